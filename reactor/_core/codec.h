// Values as bytes. Common types natively, the rest through the pickle hook; see reactor/codec.py for that side.
#pragma once
#include "context.h"

namespace reactor {

// Collects one value (or a call's arguments), then writes it wherever there is room. Used as a stack, because pickling runs
// user code that may make calls itself: take one with Encoding.
class Encoder {
 public:
  bool item(PyObject* o);           // appends a value; false: Python error set
  bool argument(PyObject* o);       // the same; a ref stands for its value
  bool name(PyObject* str);         // a keyword's name
  uint32_t add_ref(Object* o, PyObject* owner);
  uint64_t size() const;
  uint64_t pickled_bytes() const { return pickled_; }
  std::string layout(uint32_t items) const;  // text, see recorder.h
  bool write(uint8_t* to);          // also takes a hold of every ref inside; false: Python error set
  void clear();

 private:
  bool encode(PyObject* o, int depth);
  bool array(PyObject* o);
  bool pickled(PyObject* o);
  bool buffer(PyObject* bytes);
  bool seen(PyObject* o);
  void raw(const void* p, size_t n) { stream_.insert(stream_.end(), static_cast<const uint8_t*>(p), static_cast<const uint8_t*>(p) + n); }
  template <class T> void put(T v) { raw(&v, sizeof v); }
  uint64_t pickled_ = 0;
  std::vector<uint8_t> stream_;
  std::vector<Py_buffer> buffers_;
  std::vector<Off> deps_, refs_;
  std::vector<PyObject*> owners_;   // keeps refs and temporary arrays alive until write
  std::vector<PyObject*> seen_;     // mutable containers met in this item: a second meeting needs pickle's memo
};

// Scope of an encoder; it is also the one that export_ref() in a running pickle finds.
class Encoding {
 public:
  Encoding();
  ~Encoding();
  Encoder* operator->() { return encoder; }
  Encoder* encoder;
  static Encoder* current();
};

// Reads a value. `owner` is the object whose memory the bytes are in (large arrays become views of it), or null when
// they must be copied.
class Decoder {
 public:
  Decoder(uint8_t* value, Object* owner);
  PyObject* item();                 // null: Python error set
  PyObject* ref(uint32_t i);        // new Ref
  Object* dep(uint32_t i);
  static Decoder* current();

 private:
  PyObject* array(bool in_buffer);
  PyObject* pickled(bool in_buffer);
  template <class T> T get() {
    T v;
    memcpy(&v, p_, sizeof v);
    p_ += sizeof v;
    return v;
  }
  uint8_t* value_;
  ValueHeader* header_;
  const uint8_t* p_;
  Object* owner_;
};

bool encode_into(Encoder& e, Object* o);  // stores the encoder's value in the object, not yet completed
PyObject* decode_object(Object* o);        // value of a completed object

}  // namespace reactor
