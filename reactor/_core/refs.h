// Python types of the core: Ref (an object ref), View (memory of an object, for arrays), Link (an actor as seen by this
// process) with Method, Function (a remote function), Completion (a result to be given later).
#pragma once
#include "codec.h"

namespace reactor {

struct PyRef {
  PyObject_HEAD
  Object* object;
  uint64_t uid;
  uint32_t epoch;
  uint32_t note;      // journal entry
  uint32_t segment, op;  // where the caller issued it: number of its segment and place in it; 0: not recorded
  uint32_t recorded;     // node of the operation in the trie, 0 for none
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
};

struct PyLink {
  PyObject_HEAD
  Object* object;
  Inbox* inbox;
  uint64_t uid;
  uint32_t actor;
  uint32_t epoch;
  uint32_t note;
  Outlet* outlet;     // null until the first call
  bool weak;          // does not keep the actor alive
  PyObject* weakrefs;
};

// What Method and Function share: how a call is checked and made.
struct CallSpec {
  int32_t results;    // number of refs; 1 gives a ref, 0 None, more a list
  int32_t min_args, max_args;  // max -1: any
  PyObject* check;    // (args tuple, kwargs dict) raises TypeError; null: the counts are all
  PyObject* name;
};
struct PyMethod {
  PyObject_HEAD
  CallSpec spec;
  PyLink* link;
  uint32_t index;
};
struct PyFunction {
  PyObject_HEAD
  CallSpec spec;
  PyRef* function;
  uint32_t demand;
  uint32_t retries;
};
struct PyCompletion {
  PyObject_HEAD
  std::vector<Off>* results;
  std::vector<uint32_t>* notes;
  PyObject* name;
  uint32_t epoch;
};

extern PyTypeObject* RefType;
extern PyTypeObject* ViewType;
extern PyTypeObject* LinkType;
extern PyTypeObject* MethodType;
extern PyTypeObject* FunctionType;
extern PyTypeObject* CompletionType;
extern PyTypeObject* ref_class;  // what new_ref makes: Ref or a subclass

inline bool is_ref(PyObject* o) { return Py_TYPE(o) == ref_class || PyObject_TypeCheck(o, RefType); }
Object* ref_object(PyObject* ref);                      // null: stale, Python error set
PyObject* new_ref(Object* o, bool take);                // take: a hold of its own, else the caller's is handed over
PyObject* new_view(Object* o, uint8_t* data, uint64_t size, bool writable = false);
PyObject* new_link(Object* o, bool take, bool weak = false);
void drop_weak(Local& l, Object* actor);
PyObject* new_completion(const std::vector<Off>& results, const std::vector<uint32_t>& notes, PyObject* name);
bool make_types(PyObject* module);

// Reads results of a call that just ran into its objects; steals nothing. Shared by serve and Completion.
void store_results(const Off* results, uint32_t n, PyObject* value, PyObject* name);
// Takes the current Python exception; `dependency`: it is that of an argument, the call was not made.
void store_failure(const Off* results, uint32_t n, PyObject* name, bool dependency = false);
void finish_results(const Off* results, const uint32_t* notes, uint32_t n, uint32_t task_note = kNoEntry);

// Calls (calls.cpp).
PyObject* call_method(PyLink* link, const CallSpec& spec, MessageKind kind, uint32_t index, PyObject* const* args, Py_ssize_t nargs,
                      PyObject* kwnames);
PyObject* call_function(PyFunction* f, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames);
void close_link(PyLink* link);

// Runs a message here and now (serve.cpp).
void run_message(Message* m, Receiver* from, uint32_t task_note = kNoEntry);

}  // namespace reactor
