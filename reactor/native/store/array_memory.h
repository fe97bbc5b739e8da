// Arrays that are in the store in the first place, so that a method's result is not copied there: its own, and its arguments.
//
// A worker whose methods return large arrays has numpy (NEP 49) allocate arrays of just the sizes that were returned before in the
// shared heap: each a run of pages of this process's own (alloc.h: claimed, not published), with room for the value's head in
// front. When such an array is returned and nobody else has it, the head is written before it and the run is published as the
// result. The array object, which is about to die, then no longer owns its memory. Anything else is copied as ever: an array that
// somebody still holds, or a view of it, because it could be written to later; and one that shares its value with other buffers.
//
// A process killed before the publication leaves claimed pages, which the supervisor gives back. A fork() by the program would
// share the memory with the child, writable; so the child first gets a copy at the same addresses, for which the parent waits: its
// threads go on, but fork() has not returned, so no write that the program orders after it is seen by the child. So that this does
// not take long, and what a program keeps does not count, only a few arrays are in the heap at a time.
//
// A large array that came as an argument and goes as the result, or within it, is in the store too. The result then shows the
// arguments' bytes: its value has where they lie and a ref to the arguments' object. That is so only if they were read as they lie, which
// is once (ArgumentsUse in layout.h), and nobody else has the array: no one in the process, and no child that it has forked; else who
// has it might write to it all the same. And only if it is at least half of the arguments, which stay as long as the result
// does, and no refs are among them, which would stay too; and lies as an array of the value's own would, by the cache line.
#pragma once
#include "objects/object.h"
#include "python/numpy.h"

namespace reactor {

constexpr uint64_t kArrayHead = 4096;         // room for the head in front of an array; the data begin at a memory page
constexpr uint64_t kLeastArray = 256ull * 1024;  // smaller ones are copied faster than this would pay

// The array whose memory `a` shows if nobody but the holder of `a` can reach it, else null.
PyArrayObject* sole_owner(PyArrayObject* a);
Object* arguments_of(PyObject* o);            // that the large array `o` is, as they lie; null: it is none
// The arguments that `a` shows, if a result may show them too, and their bytes before `a`; else null. From then on they are Shown.
Object* arguments_under(PyArrayObject* a, uint64_t& at);
bool lends_from(const Heap* heap);             // numpy may have memory of it, or may ask whether it has
void watch_forks();                           // before the program has any large argument
Off run_of(PyArrayObject* owner);             // that it was made in; 0: it was not
uint64_t run_bytes(Off run);                  // its length
void expect_arrays_like(PyArrayObject* owner); // those of its size are made in the heap from now on
void give_run_away(PyArrayObject* owner);     // the run is no longer its own

}  // namespace reactor
