#include "worker/arguments.h"
#include "calls/calls.h"

namespace reactor {

bool Arguments::take(Message* m) {
  if (!m->args_object) return take(m, Decoder(m->value(), nullptr, nullptr));
  owner_ = ctx->heap->at<Object>(m->args_object);
  watch_forks();
  Reading reading(owner_);
  if (!reading.value()) return false;
  Decoder decoder(reading.value(), owner_, &reading);
  ArgumentsUse use = ArgumentsUse::Fresh;
  if (!owner_->use.compare_exchange_strong(use, ArgumentsUse::ReadAsTheyLie)) decoder.read_privately();
  return take(m, decoder);
}

bool Arguments::take(Message* m, Decoder d) {
  uint32_t at = 1;
  for (uint32_t i = 0; i < m->args; ++i)
    if (!(args_[at++] = d.item())) return false;
  if (m->kwargs == 0) return true;
  names_ = PyTuple_New(m->kwargs);
  for (uint32_t i = 0; names_ && i < m->kwargs; ++i) {
    PyObject* name = d.item();
    if (!name) return false;
    PyUnicode_InternInPlace(&name);
    PyTuple_SET_ITEM(names_, i, name);
    if (!(args_[at++] = d.item())) return false;
  }
  return names_ != nullptr;
}

void Arguments::drop_arrays() {
  if (!owner_) return;
  for (auto*& a : args_) {
    if (!a || arguments_of(a) != owner_) continue;
    if (!bytes_) bytes_.emplace(owner_);
    Py_CLEAR(a);
  }
}

void Arguments::drop() {
  for (auto*& a : args_) Py_CLEAR(a);
  Py_CLEAR(names_);
  bytes_.reset();
}

ArgsAndKwargs::ArgsAndKwargs(Arguments& a, uint32_t positional) : args(PyTuple_New(positional)), kwargs(PyDict_New()) {
  for (uint32_t i = 0; i < positional; ++i) PyTuple_SET_ITEM(args.get(), i, Py_NewRef(a.begin()[i]));
  for (Py_ssize_t i = 0; a.names() && i < PyTuple_GET_SIZE(a.names()); ++i)
    PyDict_SetItem(kwargs.get(), PyTuple_GET_ITEM(a.names(), i), a.begin()[positional + size_t(i)]);
}

}  // namespace reactor
