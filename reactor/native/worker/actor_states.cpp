#include "worker/actor_states.h"

namespace reactor {
namespace {

PyObject* gauss_name() {
  static PyObject* name = PyUnicode_InternFromString("gauss_next");
  return name;
}

// The libraries' numbers of threads that the calling thread has.
struct Numbers {
  uint64_t states = 0;  // of which ActorStates
  uint32_t state = 0;   // whose they are
  std::vector<int> of_driver;  // what they were when it left the driver's code, by library
};
thread_local Numbers numbers __attribute__((tls_model("initial-exec")));

// Whether a state is still the saved one, as the actor's last turn began with it. A generator that draws changes its position, or, when it
// begins again, all of its words; seeding changes nearly all of them. The position and some words are at one end of the state or the other.
bool unchanged(const uint8_t* now, const uint8_t* saved, size_t size) {
  constexpr size_t kEnd = 64;
  if (size <= 2 * kEnd) return memcmp(now, saved, size) == 0;
  return memcmp(now, saved, kEnd) == 0 && memcmp(now + size - kEnd, saved + size - kEnd, kEnd) == 0;
}

}  // namespace

void ActorStates::add(PyObject* module_dict, PyObject* name, PyObject* make) {
  if (current_) saved_[current_].values.push_back(Owned::share(PyDict_GetItem(module_dict, name)));
  variables_.push_back({Owned::share(module_dict), Owned::share(name), Owned::share(make)});
}

void ActorStates::call(uint32_t before, int64_t actor) { hooks.switched.tell(before, actor); }

void ActorStates::save(Saved& to) {
  size_t size = 0;
  for (auto& p : places_) size += p.size;
  to.bytes.resize(size);
  uint8_t* at = to.bytes.data();
  for (size_t i = 0; i < places_.size(); ++i) {
    const Place& p = places_[i];
    if (i >= to.places || !unchanged(p.at, at, p.size)) memcpy(at, p.at, p.size);
    at += p.size;
  }
  to.places = places_.size();
  PyObject* gauss = generator_ ? PyDict_GetItem(generator_.get(), gauss_name()) : to.gauss.get();
  if (gauss != to.gauss.get()) to.gauss = Owned::share(gauss);
}

void ActorStates::make_variables(uint32_t actor) {
  for (size_t i; (i = saved_[actor].values.size()) < variables_.size();) {
    Owned value(PyObject_CallNoArgs(variables_[i].make.get()));
    if (!value) PyErr_WriteUnraisable(variables_[i].make.get());
    if (saved_[actor].values.size() == i)
      saved_[actor].values.push_back(std::move(value));  // else a finalizer has entered this actor meanwhile
  }
}

void ActorStates::put_variables(const Saved& of) {
  for (size_t i = 0; i < of.values.size(); ++i)
    if (of.values[i] && PyDict_SetItem(variables_[i].dict.get(), variables_[i].name.get(), of.values[i].get()) != 0)
      PyErr_WriteUnraisable(variables_[i].make.get());
}

bool ActorStates::load(Saved& from) {
  const uint8_t* at = from.bytes.data();
  for (size_t i = 0; i < from.places; ++i) {
    memcpy(places_[i].at, at, places_[i].size);
    at += places_[i].size;
  }
  if (generator_ && from.gauss && PyDict_GetItem(generator_.get(), gauss_name()) != from.gauss.get() &&
      PyDict_SetItem(generator_.get(), gauss_name(), from.gauss.get()) != 0)
    PyErr_Clear();
  return from.places == places_.size();
}

void ActorStates::save_environment(Saved& to) {
  if (!environ_) return;
  to.variable = Owned::share(PyDict_GetItem(environ_.get(), name_.get()));
  read(process_libraries_, to.process_numbers);
  to.entered = true;
}

void ActorStates::load_environment(const Saved& from) {
  if (!environ_ || !from.entered) return;
  set(process_libraries_, from.process_numbers, from.variable.get());
  PyObject *value = from.variable.get(), *now = PyDict_GetItem(environ_.get(), name_.get());
  if (value == now) return;
  if (value ? PyDict_SetItem(environ_.get(), name_.get(), value) : PyDict_DelItem(environ_.get(), name_.get())) PyErr_Clear();
  if (value) setenv(PyBytes_AS_STRING(name_.get()), PyBytes_AS_STRING(value), 1);
  else unsetenv(PyBytes_AS_STRING(name_.get()));
}

void ActorStates::read(const std::vector<Library>& libraries, std::vector<int>& numbers) {
  numbers.resize(libraries.size());
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = libraries[i].get();
}

// `variable`: the value of the environment variable in the state whose numbers these are.
void ActorStates::set(const std::vector<Library>& libraries, const std::vector<int>& numbers, PyObject* variable) {
  for (size_t i = 0; i < libraries.size(); ++i) {
    const Library& library = libraries[i];
    int n = 0;
    if (i < numbers.size()) {
      n = numbers[i];
    } else {  // loaded since then: as if it had been there
      if (variable) n = int(std::clamp(strtol(PyBytes_AS_STRING(variable), nullptr, 10), 0L, long(INT_MAX)));
      if (n <= 0 || n > library.most) n = library.most;
    }
    library.set(n);
  }
}

void ActorStates::exchange_thread_numbers(uint32_t actor) {
  if (!environ_) return;
  Numbers& mine = numbers;
  if (mine.states != serial_) mine = {serial_, kDriver, {}};
  if (mine.state == actor) return;
  Saved* left = saved_.find(mine.state);  // an actor that is forgotten is not there
  if (mine.state == kDriver) read(thread_libraries_, mine.of_driver);
  else if (left) read(thread_libraries_, left->thread_numbers);
  mine.state = actor;
  const Saved& own = saved_[actor];
  if (actor != kDriver && !own.entered) return;  // its number is about to be set for the first time
  set(thread_libraries_, actor == kDriver ? mine.of_driver : own.thread_numbers, own.variable.get());
}

void ActorStates::enter(uint32_t actor) {
  if (!actor) return;
  if (actor == current_) return exchange_thread_numbers(actor);
  SavedError error;
  PyObject* modules = PyImport_GetModuleDict();
  if (always_ || PyDict_GET_SIZE(modules) != modules_) {
    modules_ = PyDict_GET_SIZE(modules);
    call(current_, actor);
  }
  make_variables(actor);
  // Up to here finalizers may have made calls and come back; from here on no Python runs until all is exchanged.
  if (current_) {
    save(saved_[current_]);
    save_environment(saved_[current_]);
  }
  current_ = actor;
  Saved& own = saved_[actor];
  put_variables(own);
  load_environment(own);
  exchange_thread_numbers(actor);
  if (own.places && !load(own)) call(actor, kFresh);
}

void ActorStates::renew(uint32_t actor) { const std::vector<Owned> old = std::exchange(saved_[actor].values, {}); }

void ActorStates::forget(uint32_t actor) {
  { const auto gone = saved_.extract(actor); }  // finalizers, which may enter another, find it gone
  if (current_ == actor) current_ = 0;
  call(actor, kForget);
}

}  // namespace reactor
