#include "codec_tags.h"
#include "actor_states.h"
#include "spill.h"

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
  if (i >= header_->refs) {
    PyErr_SetString(PyExc_RuntimeError, "reactor: a pickled value names an object ref that did not travel with it");
    return nullptr;
  }
  auto* o = ctx->heap->at<Object>(value_refs(header_)[header_->deps + i]);
  if (ctx->logical && ctx->serves && kind_of(o) != kCode) was_given();
  return new_ref(o, true);
}

PyObject* Decoder::whole() {
  whole_ = *p_ == Array;
  if (header_->stream < kManyParts) return item();
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
    default: break;
  }
  PyErr_SetString(PyExc_RuntimeError, "reactor: unknown tag in an encoded value");
  return nullptr;
}

PyObject* Decoder::array(bool in_buffer) {
  if (!load_numpy()) return nullptr;
  int type = get<uint8_t>();
  int ndim = get<uint8_t>();
  const auto order = ArrayOrder(get<uint8_t>());
  const bool fortran = order == ArrayOrder::Fortran;
  npy_intp shape[NPY_MAXDIMS];
  for (int i = 0; i < ndim; ++i) shape[i] = npy_intp(get<int64_t>());
  PyArray_Descr* d = PyArray_DescrFromType(type);
  const uint8_t* data = p_;
  size_t bytes = size_t(PyDataType_ELSIZE(d));
  for (int i = 0; i < ndim; ++i) bytes *= size_t(shape[i]);
  if (in_buffer) {
    BufferEntry& b = value_buffers(header_)[get<uint32_t>()];
    data = b.shown() ? nullptr : value_ + b.at;
    if (!data || (owner_ && owner_->block && b.size >= kView && order != ArrayOrder::Copied)) {
      PyObject* view = data ? reading_->view(const_cast<uint8_t*>(data), b.size, whole_) : shown(b);
      if (view && private_) {
        PyObject* own = private_view(view);
        Py_DECREF(view);
        view = own;
      }
      if (!view) {
        Py_DECREF(d);
        return nullptr;
      }
      void* at = PyByteArray_Check(view) ? PyByteArray_AS_STRING(view) : static_cast<void*>(reinterpret_cast<PyView*>(view)->data);
      PyObject* a = PyArray_NewFromDescr(&PyArray_Type, d, ndim, shape, nullptr, at,
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
  if (order == ArrayOrder::Copied) {
    PyObject* a = PyArray_Empty(ndim, shape, d, 0);
    if (a) memcpy(PyArray_DATA(reinterpret_cast<PyArrayObject*>(a)), data, bytes);
    return a;
  }
  // Of bytes: so that, as of a view, nobody can make it writable.
  PyObject* held = PyBytes_FromStringAndSize(reinterpret_cast<const char*>(data), Py_ssize_t(bytes));
  if (!held) {
    Py_DECREF(d);
    return nullptr;
  }
  PyObject* a = PyArray_NewFromDescr(&PyArray_Type, d, ndim, shape, nullptr, PyBytes_AS_STRING(held),
                                     fortran ? NPY_ARRAY_F_CONTIGUOUS : NPY_ARRAY_C_CONTIGUOUS, nullptr);
  if (!a) {
    Py_DECREF(held);
    return nullptr;
  }
  if (PyArray_SetBaseObject(reinterpret_cast<PyArrayObject*>(a), held) != 0) Py_CLEAR(a);
  return a;
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
  // A view may outlive the last ref, and user code in unpickling may drop it: keep the object for the time of reading.
  Reading reading(o);
  if (!reading.value()) return nullptr;
  ++ctx->values_read;
  return Decoder(reading.value(), o, &reading).whole();
}

}  // namespace reactor
