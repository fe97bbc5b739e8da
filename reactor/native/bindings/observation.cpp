// Facts about a run for its user and its tests: recordings, counters, the store.
#include "bindings.h"
#include <nanobind/stl/string.h>
#include <map>
#include <tuple>
#include <utility>
#include <vector>
#include "codec/digest.h"
#include "record/journal_lines.h"
#include "record/recordings.h"
#include "record/line_counter.h"
#include "record/site.h"
#include "store/garbage.h"
#include "store/spill.h"
#include "record/recorder.h"

namespace reactor {
namespace {

void set_recording(bool on) {
  need_ctx();
  delete ctx->recorder;
  ctx->recorder = on ? new Recorder(ctx->proc) : nullptr;
}

nb::dict spilling() {
  need_ctx();
  Header* h = ctx->header;
  nb::dict d;
  d["away"] = h->away.load();
  d["spilled"] = h->spilled.load();
  d["values"] = h->spilled_values.load();
  d["seconds"] = 1e-9 * double(h->spilled_ns.load());
  return d;
}

PyTypeObject *awaited_type = nullptr, *waiter_type = nullptr;

struct Waiter {
  int32_t pid;
  uint32_t actor = 0;
  uint64_t thread = 0;
  std::vector<std::tuple<uint64_t, int64_t, uint32_t>> things{};
};

// By process and place. A process that runs calls in threads or an event loop can go on whatever one of them waits for; what packed
// actors wait for they tell each for itself.
std::map<int64_t, Waiter> all_waiters() {
  std::map<int64_t, Waiter> all;
  for (uint32_t i = 0; i < ctx->header->proc_high.load(); ++i) {
    Proc& p = ctx->heap->procs[i];
    if (p.state.load() != ProcState::Live || p.kind == ProcKind::Supervisor) continue;
    const bool many = p.deferred.load() != 0;
    if (!many) {
      Off in = p.inbox.load();
      all[i] = {p.pid, in ? ctx->heap->at<Inbox>(in)->actor : 0};
    }
    uint32_t n = p.waits.load(memory_order_acquire);
    for (uint32_t k = 0; k < n && k < kWants; ++k) {
      Wanted& w = p.wants[k];
      Off off = w.object.load(memory_order_acquire);
      uint32_t by = w.by.load(memory_order_relaxed), packed = w.actor.load(memory_order_relaxed), actor;
      if (!off || slot_of(by) != i || (many && !packed)) continue;
      auto* o = ctx->heap->at<Object>(off);
      memcpy(&actor, o->body, sizeof actor);
      uint32_t runner = o->runner.load(memory_order_acquire);
      if (is_done(o)) continue;
      Waiter& waiter = all[by];
      waiter.pid = p.pid;
      if (packed) waiter.actor = packed;
      waiter.thread = w.thread.load(memory_order_relaxed);
      waiter.things.emplace_back(std::atomic_ref(o->uid).load(memory_order_relaxed), runner == kNoProc ? -1 : int64_t(runner), actor);
    }
  }
  return all;
}

void add_wait_types(nb::module_& m) {
  awaited_type = add_named_tuple(m, "reactor._core.Awaited", "a result that a Waiter needs to go on",
                                 {{"uid", "its number"},
                                  {"runner", "the waiter that makes it; -1: no process runs its call"},
                                  {"actor", "number of the actor whose call makes it; 0: a task's"}});
  waiter_type = add_named_tuple(m, "reactor._core.Waiter", "who waits: a process, or one of its packed actors",
                                {{"pid", "of the process"},
                                 {"actor", "its number; 0: it is none"},
                                 {"results", "[Awaited]"},
                                 {"thread", "Python's name of the thread that waits, or 0"}});
}

// {process and place, as in Object::runner: Waiter}: of all calls that can be waited for, what they must have to go on; with `from` of that one and of
// those it waits for, directly or not.
nb::dict waits(int64_t from) {
  need_ctx();
  std::map<int64_t, Waiter> all = all_waiters();
  if (from >= 0) {  // what can be reached from there; it is mostly little, and Python goes on with it
    std::map<uint32_t, int64_t> serving;
    for (auto& [at, w] : all)
      if (w.actor) serving[w.actor] = at;
    std::map<int64_t, Waiter> near;
    std::vector<int64_t> open{from};
    while (!open.empty()) {
      auto found = all.extract(open.back());
      open.pop_back();
      if (found.empty()) continue;
      for (auto& [uid, runner, actor] : found.mapped().things) {
        auto it = serving.find(actor);
        if (runner >= 0) open.push_back(runner);
        else if (it != serving.end()) open.push_back(it->second);
      }
      near.insert(std::move(found));
    }
    all = std::move(near);
  }
  nb::dict d;
  for (auto& [at, w] : all) {
    nb::list things;
    for (auto& [uid, runner, actor] : w.things) things.append(named_tuple(awaited_type, uid, runner, actor));
    d[nb::int_(at)] = named_tuple(waiter_type, w.pid, w.actor, things, w.thread);
  }
  return d;
}

void sum_counters(uint64_t (&sums)[kCounters]) {
  need_ctx();
  Header* h = ctx->header;
  for (int i = 0; i < kCounters; ++i) sums[i] = h->past[i].load();
  for (uint32_t i = 0; i < h->proc_high.load(); ++i) {
    Proc& p = ctx->heap->procs[i];
    if (p.state.load() != ProcState::Live) continue;
    auto counters = p.counters();
    for (int k = 0; k < kCounters; ++k) sums[k] += counters[size_t(k)]->load();
  }
}

nb::dict counters() {
  uint64_t sums[kCounters];
  sum_counters(sums);
  const char* names[] = {"bytes_typed", "bytes_pickled", "calls_total", "calls_in_patterns", "wakes", "sleeps", "physical_answers"};
  nb::dict d;
  for (size_t k = 0; k < std::size(names); ++k) d[names[k]] = sums[k];
  return d;
}

// Sum over all processes, see digest.h.
uint64_t digest() {
  uint64_t sums[kCounters];
  sum_counters(sums);
  return sums[kCounters - 1];
}

// [(tag_hash of its first result, uid of its function)] of the tasks that no worker has taken; without those that lack an argument.
// A task that its producer may hand to a worker at any moment is read whole and counts only if it still lies in the queue afterwards.
nb::list queued_tasks() {
  need_ctx();
  nb::list out;
  Heap* h = ctx->heap;
  auto lies_in_heap = [h](Off off) {
    return off >= kHeaderPages * kPage && off + sizeof(Object) <= h->header->capacity && off % kLine == 0;
  };
  for (Off off = ctx->header->queues.load(memory_order_acquire); off; off = h->at<TaskQueue>(off)->next.load(memory_order_acquire)) {
    auto* q = h->at<TaskQueue>(off);
    for (auto* r = h->at<TaskRing>(q->current.load(memory_order_acquire)); r;) {
      const uint64_t tail = r->tail.load(memory_order_acquire);
      for (uint64_t at = r->head.load(memory_order_acquire); at < tail; ++at) {
        atomic<Off>& slot = r->at(at);
        const Off task = slot.load(memory_order_acquire);
        if (!task || task & 1) continue;
        auto* m = h->at<Message>(task);
        const Off result = std::atomic_ref(m->result).load(memory_order_relaxed);
        const Off function = std::atomic_ref(m->function).load(memory_order_relaxed);
        if (!lies_in_heap(result) || !lies_in_heap(function)) continue;
        const uint64_t tag_hash = std::atomic_ref(h->at<Object>(result)->tag_hash).load(memory_order_relaxed);
        const uint64_t of = std::atomic_ref(h->at<Object>(function)->uid).load(memory_order_relaxed);
        std::atomic_thread_fence(memory_order_acquire);
        if (slot.load(memory_order_relaxed) == task) out.append(nb::make_tuple(tag_hash, of));
      }
      const Off next = r->next.load(memory_order_acquire);
      r = next ? h->at<TaskRing>(next) : nullptr;
    }
  }
  return out;
}

}  // namespace

void bind_observation(nb::module_& m) {
  add_line_counter(m);
  m.def("set_recording", &set_recording, nb::arg("on"));
  m.def("set_own_directory", [](const std::string& path) { reactor_own_directory(path.c_str()); }, nb::arg("path"));
  m.def(
      "set_tracing",
      [](bool on) {
        need_ctx();
        ctx->timeline.tracing = on;
      },
      nb::arg("on"));
  m.def("recordings", &recordings, nb::arg("timeout"), nb::call_guard<Using>());
  m.def("counters", &counters, nb::call_guard<Using>());
  m.def("count_physical", [] {
    need_ctx();
    ctx->proc->physical.fetch_add(1);
  });
  m.def("issuer_changes", [] {
    need_ctx();
    return nb::make_tuple(ctx->issuer_changes, ctx->issuer_place);
  });
  m.def("slot_of", &slot_of, nb::arg("runner"));
  add_wait_types(m);
  m.def("waits", &waits, nb::arg("from_") = -1, nb::call_guard<Using>());
  m.def("queued_tasks", &queued_tasks, nb::call_guard<Using>());
  m.def("digest", &digest, nb::call_guard<Using>());
  bind_journal_lines(m);
  m.def(
      "hash_bytes",
      [](nb::handle buffer) {
        Py_buffer view;
        if (PyObject_GetBuffer(buffer.ptr(), &view, PyBUF_ANY_CONTIGUOUS) != 0) throw nb::python_error();
        const uint64_t found = hash_bytes(static_cast<const uint8_t*>(view.buf), uint64_t(view.len), 0);
        PyBuffer_Release(&view);
        return found;
      },
      nb::arg("buffer"), "a hash of the bytes of a contiguous buffer, about 10 GB/s");
  m.def("memory_page", &memory_page, "bytes of the pages that values are aligned for");
  m.def("store_used", [] {
    need_ctx();
    return store_used(ctx->heap);
  });
  m.def("store_limit", [] {
    need_ctx();
    return ctx->header->store_limit;
  });
  m.def("spilling", &spilling);
  m.def("collect_if_asked", [] {
    if (ctx && !collect_if_asked()) PyErr_Clear();  // the run has ended, in a destructor
  });
  m.def(
      "collect_everywhere",
      [] {
        if (!collect_everywhere(ctx->header->store_limit + 1, true)) throw nb::python_error();
      },
      nb::call_guard<Using>());
  m.def("large_values", [] {
    need_ctx();
    return ctx->header->runs_used.load();
  });
}

}  // namespace reactor
