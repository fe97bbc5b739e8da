#include "observe.h"
#include <sys/wait.h>

namespace nb = nanobind;

namespace reactor {
PyObject* recording_data() {
  PyObject* name = PyUnicode_FromString(ctx->slot == 0 ? "driver" : "worker");
  PyObject* data = ctx->recorder ? ctx->recorder->data(name) : PyDict_New();
  Py_DECREF(name);
  PyObject* events = data ? PyList_New(0) : nullptr;
  for (auto& e : ctx->events) {
    PyObject* label = e.name ? PyObject_GetAttrString(e.name, "__name__") : Py_NewRef(Py_None);
    if (!label) {
      PyErr_Clear();
      label = Py_NewRef(Py_None);
    }
    PyObject* t = Py_BuildValue("(KKNIO)", e.start_ns, e.end_ns, label, e.actor, e.replayed ? Py_True : Py_False);
    if (t) PyList_Append(events, t);
    Py_XDECREF(t);
  }
  if (events) PyDict_SetItemString(data, "events", events);
  Py_XDECREF(events);
  PyObject* pid = PyLong_FromLong(getpid());
  PyDict_SetItemString(data, "pid", pid);
  Py_DECREF(pid);
  return data;
}

// Every process's recording, this one's first: [(slot, dict)]. Those that are busy for longer than `timeout` s are left out.
nb::list recordings(double timeout) {
  need_ctx();
  nb::list out;
  out.append(nb::make_tuple(ctx->slot, steal(recording_data())));
  if (ctx->inline_mode) return out;
  uint32_t round = ctx->header->recording_round.fetch_add(1) + 1;
  auto asked = [](Proc& p) { return p.state.load() == ProcState::Live && (p.kind == ProcKind::Actor || p.kind == ProcKind::Pool); };
  uint64_t deadline = now_ns() + uint64_t(timeout * 1e9);
  for (uint32_t i = 0; i < ctx->header->proc_high.load(); ++i)
    if (asked(ctx->heap->procs[i])) ring(&ctx->heap->procs[i].bell);
  for (uint32_t i = 0; i < ctx->header->proc_high.load(); ++i) {
    Proc& p = ctx->heap->procs[i];
    while (asked(p) && int32_t(p.recording_round.load(memory_order_acquire) - round) < 0 && now_ns() < deadline) {
      timespec t{0, 100000};
      Py_BEGIN_ALLOW_THREADS
      nanosleep(&t, nullptr);
      Py_END_ALLOW_THREADS
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    Off off = asked(p) && int32_t(p.recording_round.load(memory_order_acquire) - round) >= 0 ? p.recording.load(memory_order_acquire) : 0;
    if (off) out.append(nb::make_tuple(i, steal(decode_object(ctx->heap->at<Object>(off)))));
  }
  return out;
}

nb::dict counters() {
  need_ctx();
  Header* h = ctx->header;
  uint64_t sums[4];
  for (int i = 0; i < 4; ++i) sums[i] = h->past[i].load();
  for (uint32_t i = 0; i < h->proc_high.load(); ++i) {
    Proc& p = ctx->heap->procs[i];
    if (p.state.load() != ProcState::Live) continue;
    sums[0] += p.bytes_native.load();
    sums[1] += p.bytes_pickled.load();
    sums[2] += p.calls.load();
    sums[3] += p.replayed.load();
  }
  nb::dict d;
  d["bytes_typed"] = sums[0];
  d["bytes_pickled"] = sums[1];
  d["calls_total"] = sums[2];
  d["calls_replayed"] = sums[3];
  return d;
}

nb::dict stats() {
  need_ctx();
  Header* h = ctx->header;
  nb::dict d;
  uint64_t wakes = 0, sleeps = 0, executed = 0, live = 0;
  for (uint32_t i = 0; i < h->proc_high.load(); ++i) {
    Proc& p = ctx->heap->procs[i];
    if (p.state.load() != ProcState::Live) continue;
    ++live;
    wakes += p.wakes.load();
    sleeps += p.sleeps.load();
    executed += p.executed.load();
  }
  d["processes"] = live;
  d["wakes"] = wakes;
  d["sleeps"] = sleeps;
  d["executed"] = executed;
  d["operations"] = ctx->operations;
  d["store_used"] = h->store_used.load();
  d["store_limit"] = h->store_limit;
  d["awake"] = h->awake.load();
  d["pool_idle"] = h->pool_idle.load();
  uint64_t slab = 0, used = 0;
  for (uint32_t i = 0; i < h->high_page.load(); ++i)
    if (ctx->heap->page_state[i].load() == kSlab) {
      ++slab;
      auto* page = ctx->heap->at<SlabPage>(ctx->heap->page_at(i));
      used += page->used.load() - (page->owner.load() == kAbandoned ? 0 : 1);
    }
  d["slab_pages"] = slab;
  d["slab_slots_used"] = used;
  d["high_page"] = h->high_page.load();
  return d;
}

nb::dict proc_info(uint32_t slot) {
  Proc& p = ctx->heap->procs[slot];
  nb::dict d;
  d["pid"] = p.pid;
  d["state"] = int(p.state.load());
  d["kind"] = int(p.kind);
  d["exit_reason"] = int(p.exit_reason.load());
  d["executed"] = p.executed.load();
  d["demand"] = p.demand.load();
  return d;
}

// The floor of every call: two processes that wake each other by futex, nothing else. Seconds per round trip.
double futex_ping_pong(int rounds) {
  auto* word = static_cast<atomic<uint32_t>*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (word == MAP_FAILED) throw std::runtime_error("mmap failed");
  word->store(0);
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < rounds; ++i) {
      while (word->load() != uint32_t(2 * i + 1)) futex_wait(word, uint32_t(2 * i), UINT64_MAX);
      word->store(uint32_t(2 * i + 2));
      futex_wake(word);
    }
    _exit(0);
  }
  if (child < 0) throw std::runtime_error("fork failed");
  uint64_t start = now_ns();
  for (int i = 0; i < rounds; ++i) {
    word->store(uint32_t(2 * i + 1));
    futex_wake(word);
    while (word->load() != uint32_t(2 * i + 2)) futex_wait(word, uint32_t(2 * i + 1), UINT64_MAX);
  }
  double seconds = double(now_ns() - start) / 1e9 / rounds;
  waitpid(child, nullptr, 0);
  munmap(word, 4096);
  return seconds;
}

}  // namespace reactor
