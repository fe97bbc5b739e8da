#include "record/recordings.h"
#include <ctime>
#include <utility>
#include "codec/codec.h"
#include "process/using.h"
#include "record/recorder.h"

namespace reactor {
namespace {

PyObject* collected() {
  Owned name(PyUnicode_FromString(ctx->is_driver ? "driver" : "worker"));
  Owned data(ctx->recorder && !ctx->recorder->empty() ? ctx->recorder->data(name.get(), ctx->timeline.tick()) : PyDict_New());
  if (!data) return nullptr;
  Owned ran(PyList_New(0));
  auto add = [&](const MethodNote& m) {
    if (!ran || !m.timed) return;  // no call has ended
    double seconds = double(m.ticks) * ctx->timeline.tick() / double(m.timed) * double(m.calls);
    Owned t(Py_BuildValue("(IOKdsKK)", m.actor, m.name.get(), m.calls, seconds, m.layout.c_str(), m.bytes, m.failed));
    if (t) PyList_Append(ran.get(), t.get());
  };
  for (auto& noted : ctx->notes.actors)
    for (size_t i = 0; i < noted.count; ++i) add(noted.notes[i]);
  for (auto& [name, m] : ctx->notes.functions) add(m);
  if (ran) PyDict_SetItemString(data.get(), "ran", ran.get());
  Owned events(PyList_New(0));
  const double tick_ns = ctx->timeline.tick() * 1e9;
  auto ns = [&](uint64_t t) {
    return ctx->timeline.tracing ? t : ctx->timeline.opened_ns + uint64_t(tick_ns * double(t - ctx->timeline.opened_ticks));
  };
  for (auto& e : ctx->timeline.events) {
    Owned t(Py_BuildValue("(KKIIKOKO)", ns(e.start_ns), ns(e.end_ns), unsigned(e.kind), e.actor, e.bytes, e.name ? e.name.get() : Py_None,
                          e.tag_hash, e.failed ? Py_True : Py_False));
    if (t && events) PyList_Append(events.get(), t.get());
  }
  if (events) PyDict_SetItemString(data.get(), "events", events.get());
  Owned pid(PyLong_FromLong(getpid()));
  PyDict_SetItemString(data.get(), "pid", pid.get());
  return data.release();
}

}  // namespace

PyObject* recording_data() {
  // Garbage collection runs finalizers, which may make calls, and a call may add to what is being read here.
  int enabled = PyGC_Disable();
  PyObject* data = collected();
  if (enabled) PyGC_Enable();
  return data;
}

void leave_recording() {
  bool ran = !ctx->timeline.events.empty();
  for (auto& noted : ctx->notes.actors)
    for (size_t i = 0; i < noted.count; ++i) ran |= noted.notes[i].calls > 0;
  for (auto& [name, m] : ctx->notes.functions) ran |= m.calls > 0;
  Header* h = ctx->header;
  if (!ran) return;
  Owned data(recording_data());
  Encoding e;
  if (data && e->item(data.get())) {
    uint64_t n = e->size();
    const uint64_t block = Allocator::block_bytes(sizeof(EndedRecording) + n);
    Off off = h->ended_bytes.fetch_add(block) + block <= kEndedBytes ? ctx->local.alloc.alloc(sizeof(EndedRecording) + n, For::Runtime) : 0;
    auto* r = off ? ctx->heap->at<EndedRecording>(off) : nullptr;
    if (r && e->write(reinterpret_cast<uint8_t*>(r + 1))) {
      ctx->local.alloc.publish(off, kPlain);  // not a value of the user's: the store does not count it
      r->size = n;
      r->next = h->ended_recordings.load(memory_order_relaxed);
      while (!h->ended_recordings.compare_exchange_weak(r->next, off, memory_order_release, memory_order_relaxed)) {}
    }
  }
  PyErr_Clear();
}

namespace {

// The right to take what ended workers have left: a driver's or the supervisor's, for some milliseconds at most. A driver from outside that is killed
// meanwhile loses it (DeadProcess::take_back_words).
class TakesEnded {
 public:
  explicit TakesEnded(int tries) {
    for (; tries && !mine_; --tries) {
      uint32_t nobody = 0;
      mine_ = ctx->header->ended_busy.compare_exchange_strong(nobody, ctx->slot + 1, memory_order_acquire);
      timespec t{0, 100000};
      if (!mine_ && tries > 1) nanosleep(&t, nullptr);
    }
  }
  ~TakesEnded() {
    if (mine_) ctx->header->ended_busy.store(0, memory_order_release);
  }
  explicit operator bool() const { return mine_; }

 private:
  bool mine_ = false;
};

}  // namespace

// Supervisor: what dead workers have left goes to its own blocks. Where it lay it alone would keep a page for each of them.
void move_ended() {
  TakesEnded taking(1);
  if (!taking) return;  // at the next death
  Heap* h = ctx->heap;
  for (Off off = ctx->header->ended_recordings.exchange(0, memory_order_acquire); off;) {
    auto* r = h->at<EndedRecording>(off);
    const uint64_t size = sizeof(EndedRecording) + r->size;
    const Off next = r->next;
    Off at = off;
    if (Off to = ctx->local.alloc.alloc(size)) {
      memcpy(h->at<uint8_t>(to), r, size);
      ctx->local.alloc.publish(to, kPlain);
      ctx->local.alloc.free(off);
      at = to;
    }
    h->at<EndedRecording>(at)->next = std::exchange(ctx->header->ended_moved, at);
    off = next;
  }
}

namespace {

// Takes over what ended workers have left.
void fetch_ended() {
  Off lists[2] = {};
  if (TakesEnded taking(1000); taking) {
    lists[0] = std::exchange(ctx->header->ended_moved, 0);
    lists[1] = ctx->header->ended_recordings.exchange(0, memory_order_acquire);
  }
  for (Off off : lists)
    while (off) {
      auto* r = ctx->heap->at<EndedRecording>(off);
      Decoder d(reinterpret_cast<uint8_t*>(r + 1), nullptr, nullptr);
      if (PyObject* data = d.item()) ctx->ended.emplace_back(data);
      PyErr_Clear();
      Off next = r->next;
      ctx->local.alloc.free(off);
      off = next;
    }
}

}  // namespace

// Every process's recording, this one's first, then those of ended workers (slot -1): [(slot, dict)]. Those that are busy for
// longer than `timeout` s are left out.
nb::list recordings(double timeout) {
  need_ctx();
  nb::list out;
  out.append(nb::make_tuple(ctx->slot, steal(recording_data())));
  if (ctx->is_driver) fetch_ended();
  for (auto& d : ctx->ended) out.append(nb::make_tuple(-1, nb::borrow(d.get())));
  static bool collecting = false;  // by another thread of this process; guarded by the GIL
  while (collecting) {
    timespec t{0, 1000000};
    Py_BEGIN_ALLOW_THREADS
    nanosleep(&t, nullptr);
    Py_END_ALLOW_THREADS
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    need_ctx();
  }
  struct Collecting {
    Collecting() { collecting = true; }
    ~Collecting() { collecting = false; }
  } scope;
  uint32_t round = ctx->header->recording_round.fetch_add(1) + 1;
  auto asked = [](Proc& p) {
    return &p != ctx->proc && p.state.load() == ProcState::Live && (p.kind == ProcKind::Actor || p.kind == ProcKind::Pool);
  };
  uint64_t deadline = now_ns() + uint64_t(timeout * 1e9);
  for (uint32_t i = 0; i < ctx->header->proc_high.load(); ++i)
    if (asked(ctx->heap->procs[i])) ring(ctx->heap, &ctx->heap->procs[i].bell);
  for (uint32_t i = 0; i < ctx->header->proc_high.load(); ++i) {
    Proc& p = ctx->heap->procs[i];
    while (asked(p) && int32_t(p.recording_round.load(memory_order_acquire) - round) < 0 && now_ns() < deadline) {
      timespec t{0, 100000};
      Py_BEGIN_ALLOW_THREADS
      nanosleep(&t, nullptr);
      Py_END_ALLOW_THREADS
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    // Taken out, so that nobody else drops it meanwhile.
    Off off =
        asked(p) && int32_t(p.recording_round.load(memory_order_acquire) - round) >= 0 ? p.recording.exchange(0, memory_order_acq_rel) : 0;
    if (!off) continue;
    auto* o = ctx->heap->at<Object>(off);
    PyObject* data = decode_object(o);
    drop_hold(ctx->local, o);
    out.append(nb::make_tuple(i, steal(data)));
  }
  return out;
}

}  // namespace reactor
