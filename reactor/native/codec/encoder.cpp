#define REACTOR_IMPORTS_NUMPY
#include <algorithm>
#include "codec/codec_tags.h"
#include "store/array_memory.h"
#include "calls/calls.h"
#include "calls/failures.h"
#include "memory/spill_mover.h"
#include "store/spill.h"

namespace reactor {
namespace {

constexpr int kMaxDepth = 16;
constexpr size_t kMostStream = 1 << 30;  // its length is a number of 32 bits
constexpr size_t kMostSeenInVector = 32;
constexpr size_t kMostNested = 500;
constexpr size_t kMostIdleStream = 1 << 20;

bool numpy_loaded = false;

// Freed with the thread; between uses they hold nothing of Python's.
thread_local std::vector<std::unique_ptr<Encoder>> encoders __attribute__((tls_model("initial-exec")));
thread_local size_t encoders_used __attribute__((tls_model("initial-exec"))) = 0,
                                  encoders_hidden __attribute__((tls_model("initial-exec"))) = 0;

// While the elements of a container are encoded: whether nobody else has them.
struct Within {
  Within(bool& given, PyObject* container) : given(given), outer(given) { given = given && Py_REFCNT(container) == 1; }
  ~Within() { given = outer; }
  bool& given;
  const bool outer;
};

// Whether the array is a contiguous one whose axes have been exchanged.
bool is_permuted(PyArrayObject* a) {
  std::vector<std::pair<npy_intp, npy_intp>> axes;  // stride, length
  for (int i = 0; i < PyArray_NDIM(a); ++i)
    if (PyArray_DIM(a, i) != 1) axes.emplace_back(PyArray_STRIDE(a, i), PyArray_DIM(a, i));
  std::sort(axes.begin(), axes.end());
  npy_intp stride = PyArray_ITEMSIZE(a);
  for (auto [found, length] : axes) {
    if (found != stride) return false;
    stride *= length;
  }
  return true;
}

// Whether the value differs from `by_places` of it: a list or dict within it, on a way through lists and dicts alone, may be at other places of it,
// too, or there is a bytearray on such a way that arrives as bytes. -1: a list or dict is within itself, or too deep.
int differs_by_places(PyObject* o, std::vector<PyObject*>& around) {
  if (PyByteArray_CheckExact(o)) return arrives_as_bytes;
  const bool list = PyList_CheckExact(o);
  if (!list && !PyDict_CheckExact(o)) return 0;
  const bool shared = Py_REFCNT(o) > 1 && !around.empty();
  if (around.size() >= kMostNested || (shared && std::find(around.begin(), around.end(), o) != around.end())) return -1;
  around.push_back(o);
  int differs = shared;
  auto look = [&](PyObject* element) {
    int e = differs_by_places(element, around);
    differs = e < 0 ? e : differs | e;
    return e >= 0;
  };
  if (list) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o) && look(PyList_GET_ITEM(o, i)); ++i) {}
  } else {
    Py_ssize_t at = 0;
    PyObject *k, *v;
    while (PyDict_Next(o, &at, &k, &v) && look(v)) {}
  }
  around.pop_back();
  return differs;
}

// The same value with a list or dict of its own at each place, and bytes for each bytearray.
Owned by_places(PyObject* o) {
  if (arrives_as_bytes && PyByteArray_CheckExact(o))
    return Owned(PyBytes_FromStringAndSize(PyByteArray_AS_STRING(o), PyByteArray_GET_SIZE(o)));
  if (PyList_CheckExact(o)) {
    Owned copy(PyList_New(PyList_GET_SIZE(o)));
    for (Py_ssize_t i = 0; copy && i < PyList_GET_SIZE(copy.get()); ++i) {
      Owned element(by_places(PyList_GET_ITEM(o, i)));
      if (!element) return {};
      PyList_SET_ITEM(copy.get(), i, element.release());
    }
    return copy;
  }
  if (!PyDict_CheckExact(o)) return Owned::share(o);
  Owned copy(PyDict_New());
  Py_ssize_t at = 0;
  PyObject *k, *v;
  while (copy && PyDict_Next(o, &at, &k, &v)) {
    Owned element(by_places(v));
    if (!element || PyDict_SetItem(copy.get(), k, element.get()) != 0) return {};
  }
  return copy;
}

}  // namespace

bool load_numpy() {
  if (!numpy_loaded) numpy_loaded = _import_array() >= 0;
  return numpy_loaded;
}

Encoding::Encoding() {
  if (encoders_used == encoders.size()) encoders.emplace_back(new Encoder);
  encoder = encoders[encoders_used++].get();
}
Encoding::~Encoding() {
  encoder->clear();  // may run a destructor that encodes: this one is not free until it is through
  --encoders_used;
}
Encoder* Encoding::current() { return encoders_used > encoders_hidden ? encoders[encoders_used - 1].get() : nullptr; }
Encoding::Hidden::Hidden() : outer_(std::exchange(encoders_hidden, encoders_used)) {}
Encoding::Hidden::~Hidden() { encoders_hidden = outer_; }

void Encoder::clear() {
  if (own_size_ > kMostIdleStream) {
    own_.reset();
    own_size_ = 0;
  }
  begin_ = p_ = own_.get();
  end_ = begin_ + own_size_;
  target_ = nullptr;
  unfit_ = false;
  pickled_ = 0;
  items_ = 0;
  given_ = false;
  owner_ = nullptr;
  for (auto& b : buffers_) PyBuffer_Release(&b);
  buffers_.clear();
  shown_in_ = nullptr;
  deps_.clear();
  refs_.clear();
  for (auto* o : owners_) Py_DECREF(o);
  owners_.clear();
  forget_seen();
}

bool Encoder::grow(size_t n) {
  if (target_) {
    unfit_ = true;
    return false;
  }
  size_t used = stream(), size = own_size_ * 2 > used + n ? own_size_ * 2 : used + n + 256;
  std::unique_ptr<uint8_t[]> larger(new uint8_t[size]);
  if (used) memcpy(larger.get(), begin_, used);
  own_ = std::move(larger);
  own_size_ = size;
  begin_ = own_.get();
  p_ = begin_ + used;
  end_ = begin_ + size;
  return true;
}

void Encoder::begin_in_place(uint8_t* to, uint64_t room, uint32_t deps) {
  const uint64_t head = ValueHeader::size_for(deps, 0, 0);
  target_ = to;
  target_deps_ = deps;
  unfit_ = room < head;
  begin_ = p_ = unfit_ ? to : to + head;
  end_ = unfit_ ? to : to + room;
}

uint64_t Encoder::end_in_place() {
  if (unfit_ || !plain() || deps_.size() != target_deps_) {
    clear();
    return 0;
  }
  auto* h = reinterpret_cast<ValueHeader*>(target_);
  h->set(uint32_t(stream()), target_deps_, 0, 0);
  Off* refs = value_refs(h);
  for (Off off : deps_) {
    *refs++ = off;
    take_hold(ctx->heap->at<Object>(off));
  }
  ctx->values_written += items_;
  return uint64_t(p_ - target_);
}

uint32_t Encoder::add_ref(Object* o, PyObject* owner) {
  refs_.push_back(ctx->heap->off(o));
  owners_.push_back(Py_NewRef(owner));
  return uint32_t(refs_.size() - 1);
}

bool Encoder::item(PyObject* o) {
  ++items_;
  forget_seen();
  size_t begin = stream(), buffers = buffers_.size(), refs = refs_.size();
  if (encode(o, 0)) return true;
  if (target_) {
    PyErr_Clear();  // met again, and raised, when it is encoded the ordinary way
    unfit_ = true;
    return false;
  }
  if (PyErr_Occurred()) return false;
  // Not a common type all through: the whole item travels pickled.
  p_ = begin_ + begin;
  while (buffers_.size() > buffers) {
    PyBuffer_Release(&buffers_.back());
    buffers_.pop_back();
  }
  refs_.resize(refs);
  owner_ = nullptr;
  shown_in_ = nullptr;
  std::vector<PyObject*> around;
  if (differs_by_places(o, around) <= 0) return pickled(o);
  Owned own(by_places(o));
  return own && pickled(own.get());
}

bool Encoder::given(PyObject* o) {
  given_ = true;
  bool ok = item(o);
  given_ = false;
  return ok;
}

bool Encoder::argument(PyObject* o) {
  Owned failure;
  if (PyExceptionInstance_Check(o)) {
    if (target_) return !(unfit_ = true);
    ToStore stored(o);
    if (!stored.get()) return false;
    if (stored.state() == State::Value) return item(o);
    failure.reset(o = put_value(o, Exempt::Small));
    if (!o) return false;
  }
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
  if (seen_.size() >= kMostSeenInVector) return !more_seen_.insert(o).second;
  seen_.push_back(o);
  return false;
}

void Encoder::forget_seen() {
  seen_.clear();
  if (!more_seen_.empty()) more_seen_ = {};
}

bool Encoder::container(PyObject* o, int depth) {
  PyTypeObject* t = Py_TYPE(o);
  if (t == &PyTuple_Type) {
    Py_ssize_t n = PyTuple_GET_SIZE(o);
    if (n > INT32_MAX || (n && seen(o))) return false;
    Within elements(given_, o);
    const bool outer = std::exchange(in_tuple_, true);
    put<uint8_t>(Tuple);
    put<uint32_t>(uint32_t(n));
    bool all = true;
    for (Py_ssize_t i = 0; all && i < n; ++i) all = encode(PyTuple_GET_ITEM(o, i), depth + 1);
    in_tuple_ = outer;
    return all;
  }
  if (t == &PyList_Type) {
    Py_ssize_t n = PyList_GET_SIZE(o);
    if (n > INT32_MAX || (in_tuple_ && seen(o))) return false;
    Within elements(given_, o);
    put<uint8_t>(List);
    put<uint32_t>(uint32_t(n));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i)
      if (!encode(PyList_GET_ITEM(o, i), depth + 1)) return false;
    return PyList_GET_SIZE(o) == n;
  }
  Py_ssize_t n = PyDict_GET_SIZE(o);
  if (n > INT32_MAX || (in_tuple_ && seen(o))) return false;
  Within elements(given_, o);
  put<uint8_t>(Dict);
  put<uint32_t>(uint32_t(n));
  Py_ssize_t at = 0;
  PyObject *k, *v;
  while (PyDict_Next(o, &at, &k, &v))
    if (!encode(k, depth + 1) || !encode(v, depth + 1)) return false;
  return true;
}

bool Encoder::encode(PyObject* o, int depth) {
  if (stream() > kMostStream) return false;
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
  if (t == &PyBytes_Type || (arrives_as_bytes && depth == 0 && PyBytes_Check(o))) {
    if (size_t(PyBytes_GET_SIZE(o)) >= kShared && seen(o)) return false;
    return bytes(o, PyBytes_AS_STRING(o), size_t(PyBytes_GET_SIZE(o)));
  }
  if (arrives_as_bytes && t == &PyByteArray_Type && !in_tuple_) return bytes(o, PyByteArray_AS_STRING(o), size_t(PyByteArray_GET_SIZE(o)));
  if (depth >= kMaxDepth) return false;
  if (t == &PyTuple_Type || t == &PyList_Type || t == &PyDict_Type) return container(o, depth);
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
    ArrayOrder order = PyArray_IS_F_CONTIGUOUS(a) && !PyArray_IS_C_CONTIGUOUS(a) ? ArrayOrder::Fortran : ArrayOrder::C;
    if (order == ArrayOrder::C && !PyArray_IS_C_CONTIGUOUS(a)) {
      if (is_permuted(a)) return false;  // pickled as a view of its memory
      order = ArrayOrder::Copied;
      if (target_) return false;  // the copy gives up the GIL, and another thread would take the same place
      c = reinterpret_cast<PyArrayObject*>(PyArray_NewCopy(a, NPY_CORDER));
      if (!c) return false;
      owners_.push_back(reinterpret_cast<PyObject*>(c));
    }
    size_t bytes = size_t(PyArray_NBYTES(c));
    bool inside = bytes <= kInStream;
    put<uint8_t>(inside ? SmallArray : Array);
    put<uint8_t>(uint8_t(d->type_num));
    put<uint8_t>(uint8_t(PyArray_NDIM(c)));
    put<uint8_t>(uint8_t(order));
    for (int i = 0; i < PyArray_NDIM(c); ++i) put<int64_t>(PyArray_DIM(c, i));
    if (inside) {
      raw(PyArray_DATA(c), bytes);
      return true;
    }
    if (given_ && bytes >= kLeastArray && order != ArrayOrder::Copied) {
      owner_ = sole_owner(c);
      if (!shown_in_ && (shown_in_ = arguments_under(c, shown_at_))) shown_ = buffers_.size();
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
    OwnedAs<PyArray_Descr> d(PyArray_DescrFromScalar(o));
    if (!d) return false;
    const int type = d->type_num;
    if (type > NPY_CLONGDOUBLE && type != NPY_HALF) return false;
    alignas(16) uint8_t data[32];
    PyArray_ScalarAsCtype(o, data);
    OwnedAs<PyArray_Descr> full(PyArray_DescrFromType(type));
    put<uint8_t>(Scalar);
    put<uint8_t>(uint8_t(type));
    raw(data, size_t(PyDataType_ELSIZE(full.get())));
    return true;
  }
  return false;
}

bool Encoder::bytes(PyObject* o, const char* data, size_t n) {
  if (n >= kBuffered) {
    put<uint8_t>(BigBytes);
    return buffer(o);
  }
  put<uint8_t>(Bytes);
  put<uint32_t>(uint32_t(n));
  raw(data, n);
  return true;
}

// A bytes object or bytearray as an out-of-band buffer; its number goes into the stream.
bool Encoder::buffer(PyObject* bytes) {
  Py_buffer b;
  if (PyObject_GetBuffer(bytes, &b, PyBUF_SIMPLE) != 0) return false;
  put<uint32_t>(uint32_t(buffers_.size()));
  buffers_.push_back(b);
  return true;
}

bool Encoder::pickled(PyObject* o) {
  if (ctx) ctx->placement->enter_own_state();
  Owned dumped = hooks.dumps(o);
  if (!dumped) return false;
  PyObject* data = PyTuple_GET_ITEM(dumped.get(), 0);
  PyObject* list = PyTuple_GET_ITEM(dumped.get(), 1);
  Py_ssize_t n = PyList_GET_SIZE(list);
  Py_ssize_t size = PyBytes_GET_SIZE(data);
  bool big = size_t(size) >= kBuffered;
  put<uint8_t>(big ? BigPickle : Pickle);
  put<uint32_t>(uint32_t(n));
  put<uint32_t>(uint32_t(buffers_.size()));
  for (Py_ssize_t i = 0; i < n; ++i) {
    Py_buffer b;
    if (PyObject_GetBuffer(PyList_GET_ITEM(list, i), &b, PyBUF_ANY_CONTIGUOUS) != 0) return false;
    buffers_.push_back(b);
    pickled_ += uint64_t(b.len);
  }
  pickled_ += uint64_t(size);
  if (big) return buffer(data);
  put<uint64_t>(uint64_t(size));
  raw(PyBytes_AS_STRING(data), size_t(size));
  return true;
}

}  // namespace reactor
