// What `ps` shows of a worker: the call that it runs.
//
// The kernel shows the memory of the process's command line as it is at that moment, [start, end). If its last byte is
// not 0, it shows the text at its start up to the first 0. So a title is a copy of some bytes and no system call.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cstring>
#include <string>

namespace reactor {

class Titles {
 public:
  // From now on: `idle` between calls, `prefix` and the name of what runs during one. Does nothing where there is no room.
  void set(const std::string& idle, const std::string& prefix);

  // Guarded by the GIL, as all that runs a call.
  void run(PyObject* callable, bool constructor) {
    if (!start_) return;
    // Many actors of a class may take turns here: its function is what they share.
    if (callable && PyMethod_Check(callable)) callable = PyMethod_GET_FUNCTION(callable);
    if (callable != last_ || constructor) name_running(callable, constructor);
    memcpy(start_, running_.data(), running_.size() + 1);
  }
  // The callable that ran last is kept no longer.
  void forget() { Py_CLEAR(last_); }
  void idle() {
    if (start_) memcpy(start_, idle_.data(), idle_.size() + 1);
  }

 private:
  void name_running(PyObject* callable, bool constructor);
  void cut(std::string& text) const;

  char* start_ = nullptr;
  size_t room_ = 0;
  std::string idle_, prefix_, running_;
  PyObject* last_ = nullptr;  // what `running_` names; held, so that no other object has its address
};

extern Titles titles;

}  // namespace reactor
