#define REACTOR_IMPORTS_NUMPY
#include "codec_tags.h"
#include "recorder.h"
#include "refs.h"

namespace reactor {
namespace {

constexpr int kMaxDepth = 6;
constexpr Py_ssize_t kMaxItems = 4096;
constexpr size_t kKeptStream = 1 << 20;

bool numpy_loaded = false;
bool is_numpy(PyObject* o) { return strncmp(Py_TYPE(o)->tp_name, "numpy.", 6) == 0; }

thread_local std::vector<Encoder*> encoders;
thread_local size_t encoders_used = 0;

uint64_t alignment(const Py_buffer& b) { return uint64_t(b.len) >= kOwnPages ? kMemoryPage : kLine; }

}  // namespace

bool load_numpy() {
  if (!numpy_loaded) numpy_loaded = _import_array() >= 0;
  return numpy_loaded;
}

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

}  // namespace reactor
