// What this process has learned about the methods and functions that it runs, for their next calls and for the recording. Guarded by the GIL.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>
#include "process/title.h"
#include "python/python.h"

namespace reactor {

class Encoder;

// The facts that this process has learned about a method or function that it runs.
struct MethodNote {
  uint32_t room = 0;  // what its last result took, 0: not known, or not to be encoded in place
  uint32_t actor = 0;
  Owned name;  // set at its first call
  Titles::Known title;
  uint64_t calls = 0;
  uint64_t timed = 0, ticks = 0;  // how many of the calls were timed, and their time (timestamp())
  uint64_t failed = 0;  // how many of the calls ended with an error
  uint64_t bytes = 0;  // of its first result, and that one's layout
  std::string layout;
  // The first calls are timed, and then all that take some microseconds, of shorter ones one in 16: reading the clock costs
  // some percent of an empty call.
  bool begin(PyObject* callable, uint32_t of) {
    if (!name) {
      name.reset(PyObject_GetAttrString(callable, "__name__"));
      if (!name) PyErr_Clear();
      actor = of;
    }
    return ++calls <= 64 || (calls & 15) == 0 || ticks > timed * 10000;
  }
  void learn(const Encoder& e);
};

// The notes about an actor's methods. They stay for the recording when the actor is gone, until a later actor takes their place.
struct NotedActor {
  std::unique_ptr<MethodNote[]> notes;
  size_t count;
  bool gone = false;
};
constexpr size_t kNotedActors = 4096;  // those that live are always noted

struct Notes {
  static constexpr size_t kFunctions = 4096;  // of those with further names nothing is noted
  std::vector<NotedActor> actors;  // that were made here
  size_t first_gone = 0;  // where the next place to be taken is looked for
  std::unordered_map<std::string, MethodNote> functions;  // by name
};

}  // namespace reactor
