// The state that each actor has of its own in a process that several actors share, in packed and inline placement. It is saved when another
// actor has its turn, and restored later.
//
// Random states are exchanged as memory (reactor/runtime/seeding/random_memory.py finds it), and some modules' variables. The rest is
// Python's, by the hook `switched` (reactor/runtime/worker/actor_states.py): it is called when modules were imported since the last time, and
// each time if some state can be exchanged by it alone; with kForget when an actor is gone, with kFresh when the one that has its turn has
// no state yet of something that was imported meanwhile. Guarded by the GIL, and used by the thread that has the turn.
//
// In inline placement each has its number of threads too, as the numeric libraries and OMP_NUM_THREADS have it: so a sum over an array is
// the same to its last bit as in a process of the actor's own. Some libraries (OpenMP, torch) have a number for each thread: so each thread
// remembers whose number it has, and each thread of the driver has its own, which it gets back when it comes back. Others (OpenBLAS) have
// one for the process, which is exchanged as random states are. In a packed worker all have the same.
//
// In inline placement threads of the driver may call actors side by side. Each enters the state of its own call when it uses the runtime;
// between two such uses it has the state of whoever did so last.
#pragma once
#include <vector>
#include "process/context.h"
#include "memory/by_number.h"

namespace reactor {

class ActorStates {
 public:
  // Inline placement: the driver, and all tasks, which have as it were one worker process.
  static constexpr uint32_t kDriver = UINT32_MAX, kTasks = UINT32_MAX - 1;
  // For the hook, instead of the actor that is entered.
  static constexpr int64_t kForget = -1, kFresh = -2;
  explicit ActorStates(uint32_t current) : current_(current) {}  // who has its turn now; 0: nobody
  ActorStates(const ActorStates&) = delete;
  ActorStates& operator=(const ActorStates&) = delete;
  void enter(uint32_t actor);  // it draws from now on
  void forget(uint32_t actor);
  void renew(uint32_t actor);  // it is restarted: so are its variables
  uint32_t current() const { return current_; }
  void add(uint8_t* at, size_t size) { places_.push_back({at, size}); }
  void always_call(bool on) { always_ = on; }
  // A module's variable, of which each actor has its own value, made by `make()`; who has its turn now keeps what there is.
  void add(PyObject* module_dict, PyObject* name, PyObject* make);
  // A library's number of threads: the functions that give and change it, the most that it takes, and whether each thread has its own.
  void add(int (*get)(), void (*set)(int), int most, bool of_thread) {
    (of_thread ? thread_libraries_ : process_libraries_).push_back({get, set, most});
  }
  // The environment variable `name` (bytes), which os.environ has in `environ`, a dict of bytes.
  void keep_variable(PyObject* environ, PyObject* name) {
    environ_ = Owned::share(environ);
    name_ = Owned::share(name);
  }
  void keep_gauss(PyObject* attributes) { generator_ = Owned::share(attributes); }

 private:
  struct Place {
    uint8_t* at;
    size_t size;
  };
  struct Library {
    int (*get)();
    void (*set)(int);
    int most;
  };
  struct Variable {
    Owned dict, name, make;
  };
  struct Saved {
    std::vector<Owned> values;
    std::vector<uint8_t> bytes;
    size_t places = 0;
    Owned gauss;
    std::vector<int> thread_numbers;  // by library; the driver's are with each of its threads
    std::vector<int> process_numbers;  // by library
    Owned variable;  // the environment variable's value; null: it is not set
    bool entered = false;  // the three before are its own
  };
  void save(Saved& to);
  bool load(Saved& from);  // false: there are places that it does not know
  void call(uint32_t before, int64_t actor);
  void make_variables(uint32_t actor);
  void put_variables(const Saved& of);
  void save_environment(Saved& to);
  void load_environment(const Saved& from);
  void exchange_thread_numbers(uint32_t actor);
  static void read(const std::vector<Library>& libraries, std::vector<int>& numbers);
  static void set(const std::vector<Library>& libraries, const std::vector<int>& numbers, PyObject* variable);
  std::vector<Place> places_;  // only ever more
  std::vector<Variable> variables_;
  ByNumber<Saved> saved_;
  std::vector<Library> thread_libraries_, process_libraries_;  // only ever more
  Owned environ_, name_;
  const uint64_t serial_ = ++made_;
  static inline uint64_t made_ = 0;
  Owned generator_;  // the attributes of random._inst, one of which is its next Gaussian
  uint32_t current_;
  Py_ssize_t modules_ = 0;
  bool always_ = false;
};

}  // namespace reactor
