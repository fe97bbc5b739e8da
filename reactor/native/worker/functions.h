// The functions that this process has loaded to run them.
#pragma once
#include "types/refs.h"

namespace reactor {

// The callable of a task's function, or of what a call asks for around its method, at this offset. `note`: what is noted of the functions of
// its name, null if nothing is. Null: a Python error is set.
Owned function_of(Off off, MethodNote** note = nullptr);
// A call asks for something around its method (a name, another concurrency group, retries): the method with that.
Owned wrapped(Owned method, Off options);
// A call for a concurrency group is handed on, also by an actor that runs its others here.
bool has_group(PyObject* callable);

}  // namespace reactor
