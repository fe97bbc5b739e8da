#include "codec/codec_tags.h"
#include "store/spill.h"
#include "types/refs.h"

namespace reactor {
namespace {

constexpr uint32_t kManyParts = 1 << 16;  // bytes of a stream from which on it may have many lists and dicts

thread_local std::vector<Decoder*> decoders __attribute__((tls_model("initial-exec")));

struct DecodeScope {
  explicit DecodeScope(Decoder* d) { decoders.push_back(d); }
  ~DecodeScope() { decoders.pop_back(); }
};

}  // namespace

Decoder::Decoder(uint8_t* value, Object* owner, Reading* reading)
    : value_(value), header_(reinterpret_cast<ValueHeader*>(value)), p_(value_stream(header_)), owner_(owner), reading_(reading) {}

Decoder* Decoder::current() { return decoders.empty() ? nullptr : decoders.back(); }

Object* Decoder::dep(uint32_t i) { return ctx->heap->at<Object>(value_refs(header_)[i]); }
PyObject* Decoder::ref(uint32_t i) {
  if (i >= header_->refs()) {
    PyErr_SetString(PyExc_RuntimeError, "reactor: a pickled value names an object ref that did not travel with it");
    return nullptr;
  }
  auto* o = ctx->heap->at<Object>(value_refs(header_)[header_->deps() + i]);
  if (ctx->logical && ctx->receiving_actor && kind_of(o) != kCode) was_given();
  return new_ref(o, true);
}

PyObject* Decoder::whole() {
  whole_ = *p_ == Array;
  if (header_->stream() < kManyParts) return item();
  const int collected = PyGC_Disable();  // all that is made here is kept
  PyObject* value = item();
  if (collected) PyGC_Enable();
  return value;
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
    case Tuple: return tuple();
    case List: return list();
    case Dict: return dict();
    case Ref: return ref(get<uint32_t>());
    case Dep: return decode_object(dep(get<uint32_t>()));
    case Scalar: return scalar();
    case SmallArray: return array(false);
    case Array: return array(true);
    case Pickle: return pickled(false);
    case BigPickle: return pickled(true);
    default: break;
  }
  PyErr_SetString(PyExc_RuntimeError, "reactor: unknown tag in an encoded value");
  return nullptr;
}

PyObject* Decoder::tuple() {
  const auto n = get<uint32_t>();
  Owned r(PyTuple_New(n));
  for (uint32_t i = 0; r && i < n; ++i) {
    PyObject* v = item();
    if (!v) r.reset();
    else PyTuple_SET_ITEM(r.get(), i, v);
  }
  return r.release();
}

PyObject* Decoder::list() {
  const auto n = get<uint32_t>();
  Owned r(PyList_New(n));
  for (uint32_t i = 0; r && i < n; ++i) {
    PyObject* v = item();
    if (!v) r.reset();
    else PyList_SET_ITEM(r.get(), i, v);
  }
  return r.release();
}

PyObject* Decoder::dict() {
  const auto n = get<uint32_t>();
  Owned r(PyDict_New());
  for (uint32_t i = 0; r && i < n; ++i) {
    const Owned k(item());
    const Owned v(k ? item() : nullptr);
    if (!v || PyDict_SetItem(r.get(), k.get(), v.get()) != 0) r.reset();
  }
  return r.release();
}

PyObject* Decoder::scalar() {
  if (!load_numpy()) return nullptr;
  const OwnedAs<PyArray_Descr> d(PyArray_DescrFromType(get<uint8_t>()));
  alignas(16) uint8_t data[32];
  auto n = size_t(PyDataType_ELSIZE(d.get()));
  memcpy(data, p_, n);
  p_ += n;
  return PyArray_Scalar(data, d.get(), nullptr);
}

PyObject* Decoder::array(bool in_buffer) {
  if (!load_numpy()) return nullptr;
  int type = get<uint8_t>();
  int ndim = get<uint8_t>();
  const auto order = ArrayOrder(get<uint8_t>());
  npy_intp shape[NPY_MAXDIMS];
  for (int i = 0; i < ndim; ++i) shape[i] = npy_intp(get<int64_t>());
  OwnedAs<PyArray_Descr> d(PyArray_DescrFromType(type));
  const uint8_t* data = p_;
  size_t bytes = size_t(PyDataType_ELSIZE(d.get()));
  for (int i = 0; i < ndim; ++i) bytes *= size_t(shape[i]);
  Owned base;  // the array shows memory of it
  void* at = nullptr;
  if (in_buffer) {
    BufferEntry& b = value_buffers(header_)[get<uint32_t>()];
    data = b.shown() ? nullptr : value_ + b.at;
    if (!data || (owner_ && owner_->block && b.size >= kView && order != ArrayOrder::Copied)) {
      base.reset(data ? reading_->view(const_cast<uint8_t*>(data), b.size, whole_) : shown(b));
      if (base && private_) base.reset(private_view(base.get()));
      if (!base) return nullptr;
      at = PyByteArray_Check(base.get()) ? PyByteArray_AS_STRING(base.get())
                                         : static_cast<void*>(reinterpret_cast<PyView*>(base.get())->data);
    }
  } else {
    p_ += bytes;
  }
  if (!base && order == ArrayOrder::Copied) {
    PyObject* a = PyArray_Empty(ndim, shape, d.release(), 0);
    if (a) memcpy(PyArray_DATA(reinterpret_cast<PyArrayObject*>(a)), data, bytes);
    return a;
  }
  if (!base) {  // of bytes: so that, as of a view, nobody can make it writable
    base.reset(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(data), Py_ssize_t(bytes)));
    if (!base) return nullptr;
    at = PyBytes_AS_STRING(base.get());
  }
  const int flags = order == ArrayOrder::Fortran ? NPY_ARRAY_F_CONTIGUOUS : NPY_ARRAY_C_CONTIGUOUS;
  Owned a(PyArray_NewFromDescr(&PyArray_Type, d.release(), ndim, shape, nullptr, at, flags, nullptr));
  if (!a || PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(a.get()), base.release()) != 0) return nullptr;
  return a.release();
}

// A view of a buffer that lies in another object.
PyObject* Decoder::shown(const BufferEntry& b) {
  Reading reading(shown_arguments(ctx->heap, header_));
  return reading.value() ? reading.view(reading.value() + b.offset(), b.size, true) : nullptr;
}

PyObject* Decoder::pickled(bool in_buffer) {
  auto count = get<uint32_t>();
  auto first = get<uint32_t>();
  Owned data;
  if (in_buffer) {  // read where it lies: the owner stays until it is unpickled
    BufferEntry& b = value_buffers(header_)[get<uint32_t>()];
    data.reset(PyMemoryView_FromMemory(reinterpret_cast<char*>(value_ + b.at), Py_ssize_t(b.size), PyBUF_READ));
  } else {
    auto size = get<uint64_t>();
    data.reset(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(p_), Py_ssize_t(size)));
    p_ += size;
  }
  Owned list(data ? PyList_New(count) : nullptr);
  for (uint32_t i = 0; list && i < count; ++i) {
    BufferEntry& b = value_buffers(header_)[first + i];
    uint8_t* at = value_ + b.at;
    PyObject* buffer = owner_ && owner_->block && b.size >= kView
                           ? reading_->view(at, b.size, false)
                           : PyBytes_FromStringAndSize(reinterpret_cast<const char*>(at), Py_ssize_t(b.size));
    if (!buffer) list.reset();
    else PyList_SET_ITEM(list.get(), i, buffer);
  }
  if (!list) return nullptr;
  DecodeScope scope(this);
  if (ctx) ctx->placement->enter_own_state();
  return hooks.loads(data.get(), list.get()).release();
}

bool is_pickled(ValueHeader* value) {
  const uint8_t tag = *value_stream(value);
  return tag == Pickle || tag == BigPickle;
}

PyObject* decode_object(Object* o) {
  // User code in unpickling may drop the last ref, and a large value may be moved. (What needs pickle is pickled whole: the first tag tells.)
  const bool held = in_run(o) || is_pickled(reinterpret_cast<ValueHeader*>(value_of(ctx->heap, o)));
  Reading reading(o, held);
  if (!reading.value()) return nullptr;
  ++ctx->values_read;
  return Decoder(reading.value(), o, &reading).whole();
}

}  // namespace reactor
