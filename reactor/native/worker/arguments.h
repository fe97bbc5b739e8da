// A call's arguments, as Python takes them.
#pragma once
#include <optional>
#include "codec/codec.h"
#include "store/array_memory.h"
#include "memory/inline_array.h"
#include "store/spill.h"

namespace reactor {

// As vectorcall wants them: positional, then those of the keywords; args[0] is room for its own use.
class Arguments {
 public:
  explicit Arguments(Message* m) : args_(m->args + m->kwargs + 1) {}
  ~Arguments() { drop(); }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  // False: a Python error is set.
  bool take(Message* m);
  // The call is over: large arrays are let go of, so that its result may show one. Their bytes stay until drop(), for the result may
  // lead there without having the array.
  void drop_arrays();
  void drop();
  PyObject** begin() { return args_.data() + 1; }
  PyObject* names() const { return names_; }  // of the keywords, null for none

 private:
  bool take(Message* m, Decoder d);
  InlineArray<PyObject*, 8> args_;
  PyObject* names_ = nullptr;
  Object* owner_ = nullptr;  // of large arguments
  std::optional<Reading> bytes_;
};

// The same as (args, kwargs).
struct ArgsAndKwargs {
  ArgsAndKwargs(Arguments& a, uint32_t positional);
  Owned args, kwargs;
};

}  // namespace reactor
