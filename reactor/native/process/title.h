// The title of a worker in `ps`: the call that it runs.
//
// The kernel shows the memory of the process's command line as it is at that moment, [start, end). If its last byte is
// not 0, it shows the text at its start up to the first 0. So a title is a copy of some bytes and no system call.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <algorithm>
#include <cstring>
#include <string>

namespace reactor {

class Titles {
 public:
  // From now on: `idle` between calls, `prefix` and the name of what runs during one. Does nothing where there is no room.
  void set(const std::string& idle, const std::string& prefix);

  // The title of a method or function, kept with what else is known of it.
  struct Known {
    uint32_t set = 0;
    std::string text;
  };
  // Guarded by the GIL, as all that runs a call. `known`: of the callable, or null where it is one of this call alone.
  void run(PyObject* callable, bool constructor, Known* known) {
    if (!start_) return;
    if (!known || known->set != set_) {
      name_running(callable, constructor);
      if (!known) return show(running_);
      *known = {set_, running_};
    }
    show(known->text);
  }
  void idle() {
    if (start_) show(idle_);
  }
  // The title of the call that was begun last, for who survives this process.
  void leave(char* where, size_t room) const {
    if (!start_) return;
    size_t n = std::min(strnlen(start_, room_), room - 1);
    memcpy(where, start_, n);
    where[n] = 0;
  }

 private:
  void name_running(PyObject* callable, bool constructor);
  void cut(std::string& text) const;
  void show(const std::string& text) { memcpy(start_, text.data(), text.size() + 1); }

  char* start_ = nullptr;
  size_t room_ = 0;
  std::string idle_, prefix_, running_;
  uint32_t set_ = 0;  // how often the prefix was set
};

extern Titles titles;

}  // namespace reactor
