#include "worker/functions.h"
#include "codec/codec.h"

namespace reactor {
namespace {

// Lets go of the functions that their programs have let go of, and with them of what they captured: a program may define a function
// in each round. One that was called since the last look stays, for more of its calls may be on their way.
void forget_functions() {
  if (++ctx->functions.loaded * 8 < ctx->functions.all.size()) return;
  ctx->functions.loaded = 0;
  std::vector<LoadedFunction> gone;  // given back at the end: finalizers may make calls
  for (auto it = ctx->functions.all.begin(); it != ctx->functions.all.end();) {
    LoadedFunction& f = it->second;
    const bool retired = reinterpret_cast<PyRef*>(f.ref.get())->object->retired.load(memory_order_relaxed) != 0;
    if (std::exchange(f.used, false) || !retired) {
      ++it;
    } else {
      gone.push_back(std::move(f));
      it = ctx->functions.all.erase(it);
    }
  }
}

// What is noted of the functions of its name, null if nothing is.
MethodNote* note_of(PyObject* function) {
  Owned name(PyObject_GetAttrString(function, "__name__"));
  const char* text = name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name.get()) : nullptr;
  MethodNote* note = nullptr;
  if (text && (ctx->notes.functions.size() < Notes::kFunctions || ctx->notes.functions.count(text))) note = &ctx->notes.functions[text];
  PyErr_Clear();
  return note;
}

}  // namespace

Owned function_of(Off off, MethodNote** note) {
  auto* o = ctx->heap->at<Object>(off);
  if (auto it = ctx->functions.all.find(o->uid); it != ctx->functions.all.end()) {
    it->second.used = true;
    if (note) *note = it->second.note;
    return Owned::share(it->second.callable.get());
  }
  Owned ref(new_ref(o, true));
  Owned callable = ref ? hooks.function(ref.get()) : Owned();
  if (!callable) return Owned();
  MethodNote* about = note ? (*note = note_of(callable.get())) : nullptr;
  // If another thread has loaded it meanwhile, that one's stays.
  auto [it, fresh] = ctx->functions.all.try_emplace(o->uid, std::move(callable), std::move(ref), about, true);
  Owned loaded = Owned::share(it->second.callable.get());
  if (fresh) forget_functions();
  return loaded;
}

Owned wrapped(Owned method, Off options) {
  Owned wrap = function_of(options);
  return wrap ? Owned(PyObject_CallOneArg(wrap.get(), method.get())) : Owned();
}

bool has_group(PyObject* callable) {
  Owned group(PyObject_GetAttrString(callable, "concurrency_group"));
  if (!group) PyErr_Clear();
  return group && group.get() != Py_None;
}

}  // namespace reactor
