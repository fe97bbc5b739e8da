// Large values on the disk: moving them there when the store is full, and reading them. The protocol is told in residence.h.
#pragma once
#include "process/context.h"

namespace reactor {

// The bytes of a value in the spill file, as this process reads them. Guarded by the GIL; freed with its last user.
class Mapping {
 public:
  static Mapping* open(Heap* h, Off block);  // null: Python error set
  void take() { ++users_; }
  void drop() {
    if (--users_ == 0) delete this;
  }
  uint8_t* base() const { return base_; }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

 private:
  Mapping(uint8_t* base, uint64_t size, bool mapped) : base_(base), size_(size), mapped_(mapped) {}
  ~Mapping();
  uint8_t* base_;
  uint64_t size_;
  bool mapped_;  // else a copy of its own
  int users_ = 1;
};

// While it is there the object and its bytes stay where they are: pinned in memory, or mapped from the file. `held`: false for a small value whose
// object somebody else holds until this ends.
class Reading {
 public:
  explicit Reading(Object* o, bool held = true);
  ~Reading();
  uint8_t* value() const { return value_; }  // null: Python error set
  // A view of a part of the bytes. The `last` one: nothing else is read, the view takes over what this scope holds.
  PyObject* view(uint8_t* data, uint64_t size, bool last);
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  Object* object_;
  uint8_t* value_;
  Mapping* mapping_ = nullptr;
  Residence* pinned_ = nullptr;
  bool held_;
  uint32_t note_ = kNoEntry;
  uint32_t epoch_ = epoch;
};

inline bool in_run(const Object* o) { return o->size > kSlabMax; }
inline Residence* residence_of(Heap* h, const Object* o) { return &h->residence[h->page_of(o->block)]; }

// The largest size of values that are stored although the store is full and nothing in it can make room. Small results, arguments and errors of
// calls are stored, because a program needs them to notice a full store and to free values.
enum class Exempt : uint64_t { None = 0, Small = 100 << 10, All = UINT64_MAX };
inline For room_of(Exempt exempt) { return exempt == Exempt::All ? For::Runtime : For::User; }  // All: the runtime's own values
// Room for a value that is about to be written.
struct Room {
  Off block = 0;                 // 0: there is none, Python error set
  uint8_t* at = nullptr;         // where to write
  uint8_t* file = nullptr;       // not null: that is the value's place in the spill file, mapped
  uint64_t size = 0;
};
// Waits for room, and makes it. Gives up the GIL where it does. An exempt value that finds none is let in beyond the store's limit.
Room room_for_value(uint64_t size, Exempt exempt);
void written(const Room& room);  // before the block is published; gives back the mapping

}  // namespace reactor
