// Python types of the core: Ref (an object ref), View (memory of an object, for arrays), Link (an actor as seen by this
// process) with Method, Function (a remote function), Completion (a result to be given later).
#pragma once
#include <vector>
#include "process/context.h"

namespace reactor {

class Mapping;

constexpr uint16_t kMaxOutput = UINT16_MAX;  // PyRef::output

struct PyRef {
  PyObject_HEAD
  Object* object;
  uint64_t uid;
  uint64_t tag_hash;
  uint32_t epoch;
  uint32_t note;      // entry in the hold list
  uint32_t pattern, op;  // where the caller issued it: number of its pattern and place in it; 0: not recorded
  uint32_t recorded;     // node of the operation in the trie, 0 for none
  uint16_t output;       // which of the operation's results, kMaxOutput for that one and all after it
  bool exporter;      // of code, and its process has put it there: when this goes nobody makes further calls of it
  WaitNode* node;     // linked on the object's list and kept for the next wait, or null
  PyObject* weakrefs;
};

struct PyView {
  PyObject_HEAD
  Heap* heap;
  Object* object;
  uint8_t* data;
  uint64_t size;
  uint32_t epoch;
  uint32_t note;
  bool writable;      // over the copy-on-write mapping
  bool pinned;        // it keeps the bytes in memory (residence.h)
  Mapping* mapping;   // the bytes are in the spill file; else null
};

struct PyLink {
  PyObject_HEAD
  Object* object;
  Inbox* inbox;
  uint64_t uid;
  uint64_t tag_hash;
  uint32_t actor;
  uint32_t epoch;
  uint32_t note;
  Outlet* outlet;     // null until the first call
  bool weak;          // does not keep the actor alive
  PyObject* weakrefs;
};

// What Method and Function share: how a call is checked and made.
struct CallSpec {
  int32_t results;    // number of refs; 1 gives a ref, 0 None, more a list; or one of those below
  int32_t min_args, max_args;  // max -1: any
  PyObject* check;    // (args tuple, kwargs dict) raises TypeError; null: the counts are all
  PyObject* name;
  uint32_t window;    // of a stream: values that may be unread before the producer waits; 0: any number
  uint32_t per_yield; // of a stream: values in one yield
};
constexpr int32_t kStreamResult = -1;   // a stream, as the generator hook makes it
constexpr int32_t kDynamicResult = -2;  // one ref, of what the gather hook makes of the call's generator
struct PyMethod {
  PyObject_HEAD
  CallSpec spec;
  PyLink* link;
  uint32_t index;
  uint32_t retries;
  PyRef* options;     // what calls ask for around the method; may be null
};
struct PyFunction {
  PyObject_HEAD
  CallSpec spec;
  PyRef* function;
  uint32_t demand;
  uint32_t retries;
  int8_t carries;     // handles or refs lie in the function; -1: not looked yet
};
class Stream;
struct PyCompletion {
  PyObject_HEAD
  std::vector<Off>* results;
  std::vector<uint32_t>* notes;
  PyObject* name;
  Stream* stream;     // null unless the call gives a stream
  bool dynamic;
  Message* message;   // the call's own block, null if it cannot be run again
  uint32_t note;      // of the block
  uint32_t epoch;
  uint32_t actor;
  uint64_t started;   // ns, where times are kept
  Started* children;
  uint64_t given_digest, digest;  // of the arguments; of these with all that the actor was given before, which the results are added to
  PyObject* tag;                  // null unless a record is kept of the run; then also:
  PyObject* given;                // (args, kwargs)
};

extern PyTypeObject* RefType;
extern PyTypeObject* ViewType;
extern PyTypeObject* LinkType;
extern PyTypeObject* MethodType;
extern PyTypeObject* FunctionType;
extern PyTypeObject* CompletionType;
// The completion of the call that was handed on to this thread or coroutine; null where none runs.
PyCompletion* running_completion();
extern PyTypeObject* ref_class;  // what new_ref makes: Ref or a subclass

inline bool is_ref(PyObject* o) { return Py_TYPE(o) == ref_class || PyObject_TypeCheck(o, RefType); }
Object* ref_object(PyObject* ref);                      // null: stale, Python error set
// `take`: with a hold of its own; else the caller's is handed over, with `note`, its entry in the hold list if it has one.
PyObject* new_ref(Object* o, bool take, uint32_t note = kNoEntry);
// The bytes are pinned or mapped by the caller meanwhile.
PyView* bare_view(Object* o, uint8_t* data, uint64_t size);  // takes no hold
PyObject* private_view(PyObject* view);  // the same bytes, writable, copied page by page when written to, or at once: a View or a bytearray
PyObject* new_view(Object* o, uint8_t* data, uint64_t size, Mapping* mapping = nullptr, bool writable = false);
PyObject* new_link(Object* o, bool take, bool weak = false);
void drop_weak(Local& l, Object* actor);
PyCompletion* new_completion(const Off* results, const uint32_t* notes, uint32_t n, PyObject* name, uint8_t flags, uint64_t started,
                             Message* block, uint32_t note);
bool make_types(PyObject* module);

}  // namespace reactor
