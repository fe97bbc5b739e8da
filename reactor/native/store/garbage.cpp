#include "store/garbage.h"
#include "process/placement.h"
#include "memory/spill_mover.h"
#include "sync/bell.h"

namespace reactor {
namespace {

constexpr uint64_t kAskEachNs = 10000000000;
constexpr uint64_t kAnswerNs = 100000000;       // how long the asker waits: values are spilled rather than calls delayed

// A worker that waits for work: it answers at once. (In get or wait it looks four times a second.)
bool can_answer(const Proc& p) {
  return p.state.load(memory_order_acquire) == ProcState::Live && (p.kind == ProcKind::Actor || p.kind == ProcKind::Pool) &&
         p.awake.load(memory_order_relaxed) == 0 && p.blocked.load(memory_order_relaxed) == 0;
}

void ring_workers() {
  Heap* h = ctx->heap;
  for (uint32_t i = 0; i < ctx->header->proc_high.load(memory_order_acquire); ++i) {
    Proc& p = h->procs[i];
    if (&p != ctx->proc && p.state.load(memory_order_acquire) == ProcState::Live && (p.kind == ProcKind::Actor || p.kind == ProcKind::Pool))
      ring(h, &p.bell);
  }
}

// Whether a worker that could answer has not.
bool answers_lack(uint32_t round) {
  Heap* h = ctx->heap;
  for (uint32_t i = 0; i < ctx->header->proc_high.load(memory_order_acquire); ++i) {
    Proc& p = h->procs[i];
    if (&p != ctx->proc && int32_t(p.collect_round.load(memory_order_acquire) - round) < 0 && can_answer(p)) return true;
  }
  return false;
}

}  // namespace

bool collect_here() {
  const uint32_t mine = epoch;
  // Not PyGC_Collect, which does nothing if the program has called gc.disable().
  Owned module(PyImport_ImportModule("gc"));
  Owned found(module ? PyObject_CallMethod(module.get(), "collect", nullptr) : nullptr);
  if (!found) PyErr_Clear();
  if (epoch == mine) return true;
  set_ended_error();
  return false;
}

bool collect_if_asked() {
  const uint32_t round = ctx->header->collect_round.load(memory_order_acquire);
  if (round == ctx->proc->collect_round.load(memory_order_relaxed)) return true;
  Proc* proc = ctx->proc;
  if (!collect_here()) return false;
  proc->collect_round.store(round, memory_order_release);
  return true;
}

bool collect_everywhere(int64_t bytes, bool always) {
  Header* hdr = ctx->header;
  const uint64_t now = now_ns();
  uint64_t last = hdr->collect_asked.load(memory_order_relaxed);
  if (!always && last && now - last < kAskEachNs) return collect_if_asked();
  if (!hdr->collect_asked.compare_exchange_strong(last, now, memory_order_relaxed)) return collect_if_asked();  // another one asks
  const uint32_t round = hdr->collect_round.fetch_add(1, memory_order_release) + 1;
  if (!ctx->placement->at_once) {
    ring_workers();
    send_control(Control::Collect, 0);
  }
  if (!collect_if_asked()) return false;
  const uint64_t deadline = now_ns() + kAnswerNs;
  while (!fits(ctx->heap, bytes) && answers_lack(round) && now_ns() < deadline) {
    timespec t{0, 1000000};
    Unlocked unlocked;
    nanosleep(&t, nullptr);
    if (!unlocked.lock()) return false;
  }
  return true;
}

}  // namespace reactor
