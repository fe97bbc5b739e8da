#include "codec.h"
#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include "recorder.h"
#include "refs.h"

namespace reactor {
namespace {

constexpr int kMaxDepth = 6;
constexpr Py_ssize_t kMaxItems = 4096;
constexpr size_t kView = 4096;     // buffers from this size on are views of shared memory
constexpr size_t kInStream = 1024; // arrays up to this size lie in the stream
constexpr size_t kBuffered = 4096;   // bytes and pickles from this size on are buffers of their own: copied once
constexpr size_t kShared = 256;      // strings and bytes from this size on are worth sending once
constexpr size_t kKeptStream = 1 << 20;

enum Tag : uint8_t {
  None = 'N', True_ = 'T', False_ = 'F', Int = 'i', Float = 'd', Str = 's', Bytes = 'b', Tuple = 't', List = 'l', Dict = 'e',
  BigBytes = 'B', SmallArray = 'a', Array = 'A', Scalar = 'S', Ref = 'R', Dep = 'V', Pickle = 'P', BigPickle = 'Q'
};

bool numpy_loaded = false;
bool load_numpy() {
  if (!numpy_loaded) numpy_loaded = _import_array() >= 0;
  return numpy_loaded;
}
bool is_numpy(PyObject* o) { return strncmp(Py_TYPE(o)->tp_name, "numpy.", 6) == 0; }

thread_local std::vector<Encoder*> encoders;
thread_local size_t encoders_used = 0;
thread_local std::vector<Decoder*> decoders;

uint64_t alignment(const Py_buffer& b) { return uint64_t(b.len) >= kOwnPages ? kMemoryPage : kLine; }

struct DecodeScope {
  explicit DecodeScope(Decoder* d) { decoders.push_back(d); }
  ~DecodeScope() { decoders.pop_back(); }
};

}  // namespace

// ---- Encoder

Encoding::Encoding() {
  if (encoders_used == encoders.size()) encoders.push_back(new Encoder);
  encoder = encoders[encoders_used++];
}
Encoding::~Encoding() {
  encoder->clear();  // may run a destructor that encodes: this one is not free until it is through
  --encoders_used;
}
Encoder* Encoding::current() { return encoders_used ? encoders[encoders_used - 1] : nullptr; }

void Encoder::clear() {
  stream_.clear();
  if (stream_.capacity() > kKeptStream) std::vector<uint8_t>().swap(stream_);
  pickled_ = 0;
  for (auto& b : buffers_) PyBuffer_Release(&b);
  buffers_.clear();
  deps_.clear();
  refs_.clear();
  for (auto* o : owners_) Py_DECREF(o);
  owners_.clear();
  seen_.clear();
}

uint32_t Encoder::add_ref(Object* o, PyObject* owner) {
  refs_.push_back(ctx->heap->off(o));
  owners_.push_back(Py_NewRef(owner));
  return uint32_t(refs_.size() - 1);
}

bool Encoder::item(PyObject* o) {
  seen_.clear();
  size_t stream = stream_.size(), buffers = buffers_.size(), refs = refs_.size();
  if (encode(o, 0)) return true;
  if (PyErr_Occurred()) return false;
  // Not a common type all through: the whole item travels pickled, so that shared identity inside it is kept.
  stream_.resize(stream);
  while (buffers_.size() > buffers) {
    PyBuffer_Release(&buffers_.back());
    buffers_.pop_back();
  }
  refs_.resize(refs);
  return pickled(o);
}

bool Encoder::argument(PyObject* o) {
  if (!is_ref(o)) return item(o);
  Object* target = ref_object(o);
  if (!target) return false;
  put<uint8_t>(Dep);
  put<uint32_t>(uint32_t(deps_.size()));
  deps_.push_back(ctx->heap->off(target));
  owners_.push_back(Py_NewRef(o));
  return true;
}

bool Encoder::name(PyObject* s) { return encode(s, 0); }

bool Encoder::seen(PyObject* o) {
  if (Py_REFCNT(o) == 1) return false;  // only one place can lead here
  for (auto* s : seen_)
    if (s == o) return true;
  if (seen_.size() >= 256) return true;
  seen_.push_back(o);
  return false;
}

bool Encoder::encode(PyObject* o, int depth) {
  if (o == Py_None) return put<uint8_t>(None), true;
  if (o == Py_True) return put<uint8_t>(True_), true;
  if (o == Py_False) return put<uint8_t>(False_), true;
  PyTypeObject* t = Py_TYPE(o);
  if (t == &PyLong_Type) {
    int overflow = 0;
    long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) return false;
    put<uint8_t>(Int);
    put<int64_t>(v);
    return true;
  }
  if (t == &PyFloat_Type) {
    put<uint8_t>(Float);
    put<double>(PyFloat_AS_DOUBLE(o));
    return true;
  }
  if (t == &PyUnicode_Type) {
    Py_ssize_t n;
    const char* s = PyUnicode_AsUTF8AndSize(o, &n);
    if (!s) {
      PyErr_Clear();  // lone surrogates: pickle can
      return false;
    }
    if (n > INT32_MAX || (size_t(n) >= kShared && seen(o))) return false;
    put<uint8_t>(Str);
    put<uint32_t>(uint32_t(n));
    raw(s, size_t(n));
    return true;
  }
  if (t == &PyBytes_Type) {
    Py_ssize_t n = PyBytes_GET_SIZE(o);
    if (size_t(n) >= kShared && seen(o)) return false;
    if (size_t(n) >= kBuffered) {
      put<uint8_t>(BigBytes);
      return buffer(o);
    }
    put<uint8_t>(Bytes);
    put<uint32_t>(uint32_t(n));
    raw(PyBytes_AS_STRING(o), size_t(n));
    return true;
  }
  if (depth >= kMaxDepth) return false;
  if (t == &PyTuple_Type) {
    Py_ssize_t n = PyTuple_GET_SIZE(o);
    if (n > kMaxItems || (n && seen(o))) return false;
    put<uint8_t>(Tuple);
    put<uint32_t>(uint32_t(n));
    for (Py_ssize_t i = 0; i < n; ++i)
      if (!encode(PyTuple_GET_ITEM(o, i), depth + 1)) return false;
    return true;
  }
  if (t == &PyList_Type) {
    Py_ssize_t n = PyList_GET_SIZE(o);
    if (n > kMaxItems || seen(o)) return false;
    put<uint8_t>(List);
    put<uint32_t>(uint32_t(n));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i)
      if (!encode(PyList_GET_ITEM(o, i), depth + 1)) return false;
    return PyList_GET_SIZE(o) == n;
  }
  if (t == &PyDict_Type) {
    Py_ssize_t n = PyDict_GET_SIZE(o);
    if (n > kMaxItems || seen(o)) return false;
    put<uint8_t>(Dict);
    put<uint32_t>(uint32_t(n));
    Py_ssize_t at = 0;
    PyObject *k, *v;
    while (PyDict_Next(o, &at, &k, &v))
      if (!encode(k, depth + 1) || !encode(v, depth + 1)) return false;
    return true;
  }
  if (is_ref(o)) {
    Object* target = ref_object(o);
    if (!target) return false;
    put<uint8_t>(Ref);
    put<uint32_t>(add_ref(target, o));
    return true;
  }
  if (is_numpy(o)) return load_numpy() && array(o);
  return false;
}

bool Encoder::array(PyObject* o) {
  if (PyArray_CheckExact(o)) {
    auto* a = reinterpret_cast<PyArrayObject*>(o);
    PyArray_Descr* d = PyArray_DESCR(a);
    if (d->type_num > NPY_CLONGDOUBLE && d->type_num != NPY_HALF) return false;  // strings, objects, dates, records
    if (d->type_num == NPY_OBJECT || PyDataType_ISBYTESWAPPED(d) || seen(o)) return false;
    PyArrayObject* c = a;
    bool fortran = PyArray_IS_F_CONTIGUOUS(a) && !PyArray_IS_C_CONTIGUOUS(a);
    if (!fortran && !PyArray_IS_C_CONTIGUOUS(a)) {
      c = reinterpret_cast<PyArrayObject*>(PyArray_NewCopy(a, NPY_CORDER));
      if (!c) return false;
      owners_.push_back(reinterpret_cast<PyObject*>(c));
    }
    size_t bytes = size_t(PyArray_NBYTES(c));
    bool inside = bytes <= kInStream;
    put<uint8_t>(inside ? SmallArray : Array);
    put<uint8_t>(uint8_t(d->type_num));
    put<uint8_t>(uint8_t(PyArray_NDIM(c)));
    put<uint8_t>(fortran);
    for (int i = 0; i < PyArray_NDIM(c); ++i) put<int64_t>(PyArray_DIM(c, i));
    if (inside) {
      raw(PyArray_DATA(c), bytes);
      return true;
    }
    Py_buffer b{};
    b.buf = PyArray_DATA(c);
    b.len = Py_ssize_t(bytes);
    put<uint32_t>(uint32_t(buffers_.size()));
    buffers_.push_back(b);
    owners_.push_back(Py_NewRef(o));
    return true;
  }
  if (PyArray_IsScalar(o, Number) || PyArray_IsScalar(o, Bool)) {
    PyArray_Descr* d = PyArray_DescrFromScalar(o);
    if (!d) return false;
    int type = d->type_num;
    Py_DECREF(d);
    if (type > NPY_CLONGDOUBLE && type != NPY_HALF) return false;
    alignas(16) uint8_t data[32];
    PyArray_ScalarAsCtype(o, data);
    PyArray_Descr* full = PyArray_DescrFromType(type);
    put<uint8_t>(Scalar);
    put<uint8_t>(uint8_t(type));
    raw(data, size_t(PyDataType_ELSIZE(full)));
    Py_DECREF(full);
    return true;
  }
  return false;
}

// A bytes object as an out-of-band buffer; its number goes into the stream.
bool Encoder::buffer(PyObject* bytes) {
  Py_buffer b;
  if (PyObject_GetBuffer(bytes, &b, PyBUF_SIMPLE) != 0) return false;
  put<uint32_t>(uint32_t(buffers_.size()));
  buffers_.push_back(b);
  return true;
}

bool Encoder::pickled(PyObject* o) {
  PyObject* r = PyObject_CallOneArg(hooks.dumps, o);
  if (!r) return false;
  PyObject* data = PyTuple_GET_ITEM(r, 0);
  PyObject* list = PyTuple_GET_ITEM(r, 1);
  Py_ssize_t n = PyList_GET_SIZE(list);
  Py_ssize_t size = PyBytes_GET_SIZE(data);
  bool big = size_t(size) >= kBuffered;
  put<uint8_t>(big ? BigPickle : Pickle);
  put<uint32_t>(uint32_t(n));
  put<uint32_t>(uint32_t(buffers_.size()));
  for (Py_ssize_t i = 0; i < n; ++i) {
    Py_buffer b;
    if (PyObject_GetBuffer(PyList_GET_ITEM(list, i), &b, PyBUF_ANY_CONTIGUOUS) != 0) {
      Py_DECREF(r);
      return false;
    }
    buffers_.push_back(b);
    pickled_ += uint64_t(b.len);
  }
  pickled_ += uint64_t(size);
  bool ok = true;
  if (big) {
    ok = buffer(data);
  } else {
    put<uint64_t>(uint64_t(size));
    raw(PyBytes_AS_STRING(data), size_t(size));
  }
  Py_DECREF(r);
  return ok;
}

namespace {

std::string array_text(const uint8_t*& p, bool inside) {
  int type = *p++, ndim = *p++;
  ++p;  // order
  PyArray_Descr* d = PyArray_DescrFromType(type);
  const char* kind = d->kind == 'f' ? "float" : d->kind == 'i' ? "int" : d->kind == 'u' ? "uint" : d->kind == 'c' ? "complex" : "bool";
  auto item = size_t(PyDataType_ELSIZE(d));
  std::string text = kind;
  if (d->kind != 'b') text += std::to_string(item * 8);
  Py_DECREF(d);
  text += "[";
  size_t bytes = item;
  for (int i = 0; i < ndim; ++i) {
    int64_t n;
    memcpy(&n, p, sizeof n);
    p += sizeof n;
    bytes *= size_t(n);
    text += (i ? "," : "") + std::to_string(n);
  }
  p += inside ? bytes : sizeof(uint32_t);
  return text + "]";
}

template <class T> T read(const uint8_t*& p) {
  T v;
  memcpy(&v, p, sizeof v);
  p += sizeof v;
  return v;
}

std::string item_text(const uint8_t*& p, int depth = 0) {
  constexpr uint32_t kShown = 4;  // members of a container
  uint8_t tag = *p++;
  switch (tag) {
    case None: return "None";
    case True_:
    case False_: return "bool";
    case Int: p += 8; return "int";
    case Float: p += 8; return "float";
    case Str: {
      auto n = read<uint32_t>(p);
      p += n;
      return "str";
    }
    case Bytes: {
      auto n = read<uint32_t>(p);
      p += n;
      return "bytes";
    }
    case Tuple:
    case List: {
      auto n = read<uint32_t>(p);
      std::string text = tag == Tuple ? "(" : "[";
      for (uint32_t i = 0; i < n; ++i) {
        std::string item = item_text(p, depth + 1);
        if (i < kShown) text += (i ? ", " : "") + item;
      }
      if (n > kShown) text += ", …" + std::to_string(n);
      return text + (tag == Tuple ? ")" : "]");
    }
    case Dict: {
      auto n = read<uint32_t>(p);
      std::string text = "{";
      for (uint32_t i = 0; i < n; ++i) {
        std::string key = item_text(p, depth + 1), value = item_text(p, depth + 1);
        if (i < kShown) text += (i ? ", " : "") + key + ": " + value;
      }
      return text + (n > kShown ? ", …}" : "}");
    }
    case Ref: p += 4; return "ref";
    case Dep: p += 4; return "result";
    case Scalar: {
      PyArray_Descr* d = PyArray_DescrFromType(*p++);
      p += PyDataType_ELSIZE(d);
      Py_DECREF(d);
      return "scalar";
    }
    case SmallArray: return array_text(p, true);
    case Array: return array_text(p, false);
    case BigBytes: p += 4; return "bytes";
    case BigPickle: p += 12; return "pickle";
    case Pickle: {
      p += 8;
      p += read<uint64_t>(p);
      return "pickle";
    }
  }
  return "?";
}

}  // namespace

std::string layout_of(const uint8_t* p, const uint8_t* end, uint32_t items) {
  std::string text;
  for (uint32_t i = 0; i < items && p < end; ++i) text += (i ? ", " : "") + item_text(p);
  return text;
}
std::string Encoder::layout(uint32_t items) const { return layout_of(stream_.data(), stream_.data() + stream_.size(), items); }

uint64_t Encoder::size() const {
  uint64_t n = sizeof(ValueHeader) + 8 * (deps_.size() + refs_.size()) + sizeof(BufferEntry) * buffers_.size() + stream_.size();
  for (auto& b : buffers_) {
    uint64_t a = alignment(b);
    n = align_up(align_up(n, a) + uint64_t(b.len), a);
  }
  return n;
}

bool Encoder::write(uint8_t* to) {
  auto* h = reinterpret_cast<ValueHeader*>(to);
  h->stream = uint32_t(stream_.size());
  h->deps = uint32_t(deps_.size());
  h->refs = uint32_t(refs_.size());
  h->buffers = uint32_t(buffers_.size());
  Off* refs = value_refs(h);
  for (Off off : deps_) *refs++ = off;
  for (Off off : refs_) *refs++ = off;
  for (Off off : deps_) take_hold(ctx->heap->at<Object>(off));
  for (Off off : refs_) take_hold(ctx->heap->at<Object>(off));
  memcpy(value_stream(h), stream_.data(), stream_.size());
  uint64_t at = uint64_t(value_stream(h) - to) + stream_.size();
  BufferEntry* entry = value_buffers(h);
  uint64_t total = 0;
  for (auto& b : buffers_) {
    uint64_t a = alignment(b);
    at = align_up(at, a);
    entry->at = at;
    entry->size = uint64_t(b.len);
    ++entry;
    at = align_up(at + uint64_t(b.len), a);
    total += uint64_t(b.len);
  }
  entry = value_buffers(h);
  auto copy = [&] {
    for (auto& b : buffers_) memcpy(to + entry++->at, b.buf, size_t(b.len));
  };
  if (total < (1 << 20)) {
    copy();
    return true;
  }
  Unlocked unlocked;
  copy();
  return unlocked.lock();
}

bool encode_into(Encoder& e, Object* o) {
  uint64_t n = e.size();
  ctx->proc->count_bytes(n, e.pickled_bytes());
  if (n <= sizeof o->body) {
    if (!e.write(o->body)) return false;
    o->size = n;
    return true;
  }
  Off block = alloc_value(n);
  if (!block) return false;
  uint32_t note = ctx->local.journal.add(block, Entry::Block);
  if (!e.write(ctx->heap->at<uint8_t>(block))) return false;
  ctx->local.alloc.publish(block);
  ctx->local.alloc.count_value(block, 1);
  o->block = block;
  o->size = n;
  ctx->local.journal.clear(note);
  return true;
}

// ---- Decoder

Decoder::Decoder(uint8_t* value, Object* owner)
    : value_(value), header_(reinterpret_cast<ValueHeader*>(value)), p_(value_stream(header_)), owner_(owner) {}

Decoder* Decoder::current() { return decoders.empty() ? nullptr : decoders.back(); }

Object* Decoder::dep(uint32_t i) { return ctx->heap->at<Object>(value_refs(header_)[i]); }
PyObject* Decoder::ref(uint32_t i) {
  if (i >= header_->refs) {
    PyErr_SetString(PyExc_RuntimeError, "reactor: a pickled value names an object ref that did not travel with it");
    return nullptr;
  }
  return new_ref(ctx->heap->at<Object>(value_refs(header_)[header_->deps + i]), true);
}

PyObject* Decoder::item() {
  switch (get<uint8_t>()) {
    case None: Py_RETURN_NONE;
    case True_: Py_RETURN_TRUE;
    case False_: Py_RETURN_FALSE;
    case Int: return PyLong_FromLongLong(get<int64_t>());
    case Float: return PyFloat_FromDouble(get<double>());
    case Str: {
      auto n = get<uint32_t>();
      auto* s = reinterpret_cast<const char*>(p_);
      p_ += n;
      return PyUnicode_DecodeUTF8(s, Py_ssize_t(n), nullptr);
    }
    case Bytes: {
      auto n = get<uint32_t>();
      auto* s = reinterpret_cast<const char*>(p_);
      p_ += n;
      return PyBytes_FromStringAndSize(s, Py_ssize_t(n));
    }
    case BigBytes: {
      BufferEntry& b = value_buffers(header_)[get<uint32_t>()];
      return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(value_ + b.at), Py_ssize_t(b.size));
    }
    case Tuple: {
      auto n = get<uint32_t>();
      PyObject* r = PyTuple_New(n);
      for (uint32_t i = 0; r && i < n; ++i) {
        PyObject* v = item();
        if (!v) Py_CLEAR(r);
        else PyTuple_SET_ITEM(r, i, v);
      }
      return r;
    }
    case List: {
      auto n = get<uint32_t>();
      PyObject* r = PyList_New(n);
      for (uint32_t i = 0; r && i < n; ++i) {
        PyObject* v = item();
        if (!v) Py_CLEAR(r);
        else PyList_SET_ITEM(r, i, v);
      }
      return r;
    }
    case Dict: {
      auto n = get<uint32_t>();
      PyObject* r = PyDict_New();
      for (uint32_t i = 0; r && i < n; ++i) {
        PyObject* k = item();
        PyObject* v = k ? item() : nullptr;
        if (!v || PyDict_SetItem(r, k, v) != 0) Py_CLEAR(r);
        Py_XDECREF(k);
        Py_XDECREF(v);
      }
      return r;
    }
    case Ref: return ref(get<uint32_t>());
    case Dep: return decode_object(dep(get<uint32_t>()));
    case Scalar: {
      if (!load_numpy()) return nullptr;
      PyArray_Descr* d = PyArray_DescrFromType(get<uint8_t>());
      alignas(16) uint8_t data[32];
      auto n = size_t(PyDataType_ELSIZE(d));
      memcpy(data, p_, n);
      p_ += n;
      PyObject* r = PyArray_Scalar(data, d, nullptr);
      Py_DECREF(d);
      return r;
    }
    case SmallArray: return array(false);
    case Array: return array(true);
    case Pickle: return pickled(false);
    case BigPickle: return pickled(true);
  }
  PyErr_SetString(PyExc_RuntimeError, "reactor: unknown tag in an encoded value");
  return nullptr;
}

PyObject* Decoder::array(bool in_buffer) {
  if (!load_numpy()) return nullptr;
  int type = get<uint8_t>();
  int ndim = get<uint8_t>();
  bool fortran = get<uint8_t>();
  npy_intp shape[NPY_MAXDIMS];
  for (int i = 0; i < ndim; ++i) shape[i] = npy_intp(get<int64_t>());
  PyArray_Descr* d = PyArray_DescrFromType(type);
  const uint8_t* data = p_;
  size_t bytes = size_t(PyDataType_ELSIZE(d));
  for (int i = 0; i < ndim; ++i) bytes *= size_t(shape[i]);
  if (in_buffer) {
    BufferEntry& b = value_buffers(header_)[get<uint32_t>()];
    data = value_ + b.at;
    if (owner_ && owner_->block && b.size >= kView) {
      PyObject* view = new_view(owner_, const_cast<uint8_t*>(data), b.size);
      if (!view) {
        Py_DECREF(d);
        return nullptr;
      }
      PyObject* a = PyArray_NewFromDescr(&PyArray_Type, d, ndim, shape, nullptr, const_cast<uint8_t*>(data),
                                         fortran ? NPY_ARRAY_F_CONTIGUOUS : NPY_ARRAY_C_CONTIGUOUS, nullptr);
      if (!a || PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(a), view) != 0) {
        Py_XDECREF(a);
        return nullptr;
      }
      return a;
    }
  } else {
    p_ += bytes;
  }
  PyObject* a = PyArray_Empty(ndim, shape, d, fortran);
  if (!a) return nullptr;
  memcpy(PyArray_DATA(reinterpret_cast<PyArrayObject*>(a)), data, bytes);
  PyArray_CLEARFLAGS(reinterpret_cast<PyArrayObject*>(a), NPY_ARRAY_WRITEABLE);
  return a;
}

PyObject* Decoder::pickled(bool in_buffer) {
  auto count = get<uint32_t>();
  auto first = get<uint32_t>();
  PyObject* data;
  if (in_buffer) {  // read where it lies: the owner stays until it is unpickled
    BufferEntry& b = value_buffers(header_)[get<uint32_t>()];
    data = PyMemoryView_FromMemory(reinterpret_cast<char*>(value_ + b.at), Py_ssize_t(b.size), PyBUF_READ);
  } else {
    auto size = get<uint64_t>();
    data = PyBytes_FromStringAndSize(reinterpret_cast<const char*>(p_), Py_ssize_t(size));
    p_ += size;
  }
  PyObject* list = data ? PyList_New(count) : nullptr;
  for (uint32_t i = 0; list && i < count; ++i) {
    BufferEntry& b = value_buffers(header_)[first + i];
    uint8_t* at = value_ + b.at;
    PyObject* buffer = owner_ && owner_->block && b.size >= kView
                           ? new_view(owner_, at, b.size)
                           : PyBytes_FromStringAndSize(reinterpret_cast<const char*>(at), Py_ssize_t(b.size));
    if (!buffer) Py_CLEAR(list);
    else PyList_SET_ITEM(list, i, buffer);
  }
  PyObject* r = nullptr;
  if (list) {
    DecodeScope scope(this);
    r = PyObject_CallFunctionObjArgs(hooks.loads, data, list, nullptr);
  }
  Py_XDECREF(data);
  Py_XDECREF(list);
  return r;
}

PyObject* decode_object(Object* o) {
  // A view may outlive the last ref, and user code in unpickling may drop it: keep the object for the time of reading.
  take_hold(o);
  Decoder d(value_of(ctx->heap, o), o);
  PyObject* r = d.item();
  if (ctx) drop_hold(ctx->local, o);
  return r;
}

}  // namespace reactor
