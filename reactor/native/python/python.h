// References to Python objects and the current Python error, each held by a scope. All of it needs the GIL.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <utility>

namespace reactor {

// A reference that its scope owns, to a Python object of which C++ knows the type T. Giving it back may run Python code, as with Py_DECREF.
template <class T> class OwnedAs {
 public:
  OwnedAs() = default;
  explicit OwnedAs(T* new_reference) : object_(new_reference) {}
  static OwnedAs share(T* borrowed) { return OwnedAs(reinterpret_cast<T*>(Py_XNewRef(borrowed))); }
  OwnedAs(OwnedAs&& o) noexcept : object_(o.release()) {}
  OwnedAs& operator=(OwnedAs&& o) noexcept {
    reset(o.release());
    return *this;
  }
  ~OwnedAs() { Py_XDECREF(object_); }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_; }
  T* release() { return std::exchange(object_, nullptr); }
  // The new reference is in place before the old one is given back.
  void reset(T* new_reference = nullptr) { Py_XDECREF(std::exchange(object_, new_reference)); }

 private:
  T* object_ = nullptr;
};
using Owned = OwnedAs<PyObject>;

// Saves the current Python error at the beginning of the scope and sets it again at the end; an error set meanwhile is dropped.
class SavedError {
 public:
#if PY_VERSION_HEX >= 0x030C0000
  SavedError() : error_(PyErr_GetRaisedException()) {}
  ~SavedError() { PyErr_SetRaisedException(error_.release()); }
  explicit operator bool() const { return bool(error_); }
  PyObject* exception() { return error_.get(); }
#else
  SavedError() { PyErr_Fetch(&type_, &value_, &trace_); }
  ~SavedError() { PyErr_Restore(type_, value_, trace_); }
  explicit operator bool() const { return type_; }
  // As an instance, with its traceback; borrowed, null if there is no error.
  PyObject* exception() {
    if (!type_) return nullptr;
    PyErr_NormalizeException(&type_, &value_, &trace_);
    if (value_ && trace_) PyException_SetTraceback(value_, trace_);
    return value_;
  }
#endif
  SavedError(const SavedError&) = delete;
  SavedError& operator=(const SavedError&) = delete;

 private:
#if PY_VERSION_HEX >= 0x030C0000
  Owned error_;
#else
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
#endif
};

// Takes the current Python error away: the exception, or null.
inline Owned take_error() {
  Owned error;
  {
    SavedError saved;
    error = Owned::share(saved.exception());
  }
  PyErr_Clear();
  return error;
}

// Makes an exception the current Python error.
inline void set_error(PyObject* exception) { PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception); }

}  // namespace reactor
