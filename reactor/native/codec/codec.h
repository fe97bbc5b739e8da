// Values as bytes. Common types natively, the rest through the pickle hook; see reactor/codec.py for that side.
#pragma once
#include <cstring>
#include <memory>
#include <string>
#include <unordered_set>
#include "store/spill.h"

struct tagPyArrayObject;

namespace reactor {

// Whether a bytearray that is no part of a pickle arrives as bytes, and a value of a subclass of bytes, too; set before the first value, and
// until the run ends.
inline bool arrives_as_bytes = false;

// Collects one value (or a call's arguments), then writes it wherever there is room. Used as a stack, because pickling runs
// user code that may make calls itself: take one with Encoding.
//
// Between begin_in_place() and end_in_place() the value is written directly to its final place, in room that was measured by an earlier value
// of the same place; nothing is pickled and no user code runs. A value that does not fit there, or is no common type, is not encoded in place.
class Encoder {
 public:
  void begin_in_place(uint8_t* to, uint64_t room, uint32_t deps);  // `deps`: refs among the arguments
  uint64_t end_in_place();          // size of the value, holds taken; 0: begin again, the ordinary way
  const std::vector<Off>& deps() const { return deps_; }
  const std::vector<Off>& refs() const { return refs_; }  // all others: inside of values
  bool plain() const { return !pickled_ && refs_.empty() && buffers_.empty(); }  // could have been encoded in place
  bool item(PyObject* o);           // appends a value; false: Python error set
  bool argument(PyObject* o);       // the same; a ref stands for its value
  bool name(PyObject* str);         // a keyword's name
  bool given(PyObject* o);          // the same of a value that nobody else has and that ends when it is written
  uint32_t add_ref(Object* o, PyObject* owner);
  uint64_t size() const;
  uint64_t full_size() const { return size() + (shown_in_ ? uint64_t(buffers_[shown_].len) : 0); }
  uint64_t pickled_bytes() const { return pickled_; }
  std::string layout(uint32_t items) const;  // text, see layout_of()
  bool write(uint8_t* to);          // false: Python error set
  Off write_before_array();         // the same into the run in which the value's array was made, which is then the value's; 0: not so
  void take_holds();                // of every ref in what was written
  bool is(ValueHeader* value) const;  // whether that is what write() would write; needs no GIL
  void clear();

 private:
  bool encode(PyObject* o, int depth);
  bool container(PyObject* o, int depth);  // a tuple, list or dict
  bool array(PyObject* o);
  bool pickled(PyObject* o);
  bool bytes(PyObject* o, const char* data, size_t n);  // of a bytes object or bytearray
  bool buffer(PyObject* bytes);
  bool seen(PyObject* o);
  void forget_seen();
  void write_head(uint8_t* to);     // the holds come when all is written: who is killed before has taken none
  void raw(const void* from, size_t n) {
    if (size_t(end_ - p_) < n && !grow(n)) return;
    memcpy(p_, from, n);
    p_ += n;
  }
  template <class T> void put(T v) { raw(&v, sizeof v); }
  bool grow(size_t n);
  bool is_shown(size_t buffer) const { return shown_in_ && buffer == shown_; }
  size_t stream() const { return size_t(p_ - begin_); }
  uint64_t pickled_ = 0;
  uint32_t items_ = 0;
  uint8_t *begin_ = nullptr, *p_ = nullptr, *end_ = nullptr;  // the stream
  std::unique_ptr<uint8_t[]> own_;
  size_t own_size_ = 0;
  uint8_t* target_ = nullptr;       // the value's own place, or null
  uint32_t target_deps_ = 0;
  bool unfit_ = false;
  bool given_ = false;              // nobody else has what is being encoded, nor what it lies in
  tagPyArrayObject* owner_ = nullptr;  // of the memory of an array in the value that nobody else has (array_memory.h)
  std::vector<Py_buffer> buffers_;
  Object* shown_in_ = nullptr;      // arguments that one of them lies in already (array_memory.h)
  size_t shown_ = 0;                // which one
  uint64_t shown_at_ = 0;
  std::vector<Off> deps_, refs_;
  std::vector<PyObject*> owners_;   // keeps refs and temporary arrays alive until write
  // The objects that were found in this item: a second occurrence needs pickle's memo. Lists and dicts outside of tuples are not among them: if one
  // occurs twice, the reader gets two.
  std::vector<PyObject*> seen_;  // the first ones
  std::unordered_set<PyObject*> more_seen_;
  bool in_tuple_ = false;
};

// Scope of an encoder; it is also the one that export_ref() in a running pickle finds.
class Encoding {
 public:
  Encoding();
  ~Encoding();
  Encoder* operator->() { return encoder; }
  Encoder* encoder;
  static Encoder* current();
  // While user code runs that is no part of a running pickle (inline placement: in the scope of the call's own encoder).
  class Hidden {
   public:
    Hidden();
    ~Hidden();

   private:
    size_t outer_;
  };
};

// Reads a value. `owner` is the object whose memory the bytes are in (large arrays become views of it) and `reading` what keeps
// them where they are; both null when they must be copied.
class Decoder {
 public:
  Decoder(uint8_t* value, Object* owner, Reading* reading);
  PyObject* item();  // null: Python error set
  PyObject* whole();  // the only item of its value
  void read_privately() { private_ = true; }  // views are copy-on-write
  PyObject* ref(uint32_t i);  // new Ref
  Object* dep(uint32_t i);
  static Decoder* current();

 private:
  PyObject* tuple();
  PyObject* list();
  PyObject* dict();
  PyObject* scalar();
  PyObject* array(bool in_buffer);
  PyObject* shown(const BufferEntry& b);
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
  Reading* reading_;
  bool whole_ = false;  // the value is one array
  bool private_ = false;
};

// Stores the encoder's value in the object, not yet completed. `wide`: anybody may come to read it, not one call alone.
bool encode_into(Encoder& e, Object* o, bool wide = true, Exempt exempt = Exempt::Small);
// The same in one step, for a value like the last one of its place, which took at most `room` bytes. False, without a Python
// error: it is not like it, encode it.
bool encode_in_place(PyObject* value, Object* o, uint32_t room);
constexpr uint64_t kMostInPlace = 8128;  // larger values are not encoded in place; a size class of alloc.h
// Room for values like one that was encoded: some more, for strings differ.
inline uint32_t room_for(const Encoder& e) {
  uint64_t n = e.size();
  return e.plain() && align_up(n + 32, 64) <= kMostInPlace ? uint32_t(align_up(n + 32, 64)) : 0;
}
// The value of a completed object, which the caller holds by a ref, a message or a note until this returns.
PyObject* decode_object(Object* o);
bool is_pickled(ValueHeader* value);  // to read it runs Python code
// Text of a value's layout, read off its encoded stream: "int", "float32[4]", "(float32[4], float, bool)", "pickle".
std::string layout_of(const uint8_t* stream, const uint8_t* end, uint32_t items);

}  // namespace reactor
