#include "process/title.h"
#include <sys/prctl.h>
#include <cstdio>
#include "python/python.h"

namespace reactor {

Titles titles;

namespace {

// Null without an exception if it has none.
Owned optional_attribute(PyObject* of, const char* name) {
  Owned value(PyObject_GetAttrString(of, name));
  if (!value) PyErr_Clear();
  return value;
}

}  // namespace

void Titles::set(const std::string& idle, const std::string& prefix) {
  if (!start_) {
    FILE* f = fopen("/proc/self/stat", "r");
    if (!f) return;
    char text[2048];
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    // The second field, the program's name, is in parentheses and may contain anything.
    char* at = strrchr(text, ')');
    unsigned long begin = 0, end = 0;
    for (int field = 2; at && field < 48; ++field) at = strchr(at + 1, ' ');
    if (!at) return;
    begin = strtoul(at, &at, 10), end = strtoul(at, &at, 10);
    if (!begin || end < begin + 16) return;
    start_ = reinterpret_cast<char*>(begin);
    room_ = end - begin;
    memset(start_, 0, room_ - 1);
    start_[room_ - 1] = ' ';
  }
  ++set_;
  std::string name = idle.substr(0, 15);  // what pgrep and top show; the kernel keeps so many bytes
  if (idle.size() > name.size())
    while (!name.empty() && (idle[name.size()] & 0xc0) == 0x80) name.pop_back();  // not in the middle of a character
  prctl(PR_SET_NAME, name.c_str());
  idle_ = idle;
  prefix_ = prefix;
  cut(idle_);
  this->idle();
}

void Titles::cut(std::string& text) const {
  if (text.size() > room_ - 2) text.resize(room_ - 2);
}

void Titles::name_running(PyObject* callable, bool constructor) {
  running_ = prefix_;
  if (constructor) {
    running_ += "__init__";
  } else if (callable) {
    Owned name = optional_attribute(callable, "__title__");  // a call that was given a name of its own
    if (name) running_.clear();
    else name = optional_attribute(callable, "__name__");
    const char* text = name ? PyUnicode_AsUTF8(name.get()) : nullptr;
    running_ += text ? text : "?";
    PyErr_Clear();
  }
  cut(running_);
}

}  // namespace reactor
