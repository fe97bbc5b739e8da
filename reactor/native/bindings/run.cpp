// Opening and closing the run in this process, the hooks, the supervisor's socket.
#include "bindings.h"
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <csignal>
#include <sys/prctl.h>
#include "store/array_memory.h"
#include "calls/failures.h"
#include "worker/inline.h"
#include "worker/leaving.h"
#include "worker/run.h"
#include "calls/stream.h"
#include "supervise/supervisor.h"

namespace reactor {
namespace {

void completes_in_time(Local&, Object* o, State s) { ctx->timed->completes(ctx->strand(), o, s); }

void begin_timed(TimedTable* table) {
  ctx->timed = std::make_unique<Timed>(ctx->local, table);
  ctx->local.completes = completes_in_time;
}

void open_context(Heap* h, uint32_t slot, bool with_hold_list, int control,
                  std::unique_ptr<Placement> placement = std::make_unique<Placement>()) {
  ++epoch;
  ctx = new Context(h, slot, with_hold_list, std::move(placement));
  ctx->local.task_ready = task_ready;
  ctx->local.actor_unheld = actor_unheld;
  ctx->local.failure_unseen = keep_failure;
  if (const Off timed = h->header->timed.load(memory_order_acquire)) begin_timed(h->at<TimedTable>(timed));
  h->control = Descriptor(control);
  ctx->main_thread = ctx->bell_thread = PyThread_get_thread_ident();
  ctx->placement->begin();
  Proc* p = ctx->proc;
  p->pid = getpid();
  // The supervisor is not counted: it waits in poll(), not on its bell.
  if (p->kind != ProcKind::Supervisor) {
    if (p->awake.exchange(1) == 0) h->header->awake.fetch_add(1);
    has_work(h->header, p);
  }
  p->state.store(ProcState::Live, memory_order_release);
}

// `patience`: (seconds, share), see patience.h; infinite seconds: order may cost anything. `head`: this process makes no calls; drivers come later.
int create(uint64_t capacity, int64_t store_limit, int cores, bool inline_mode, std::pair<double, double> patience, int spill,
           int64_t spill_note, int ordering, int digesting, bool journaling, bool head, double full_wait, double disk_left) {
  Heap* h = Heap::create(capacity, store_limit, cores);
  if (!h->give_back(h->page_at(0), kPage) &&
      PyErr_WarnFormat(
          PyExc_RuntimeWarning, 1,
          "init: this kernel cannot take memory back from the object store (%s): the session keeps the largest amount of memory that it has "
          "used, even after values were moved to the disk. Set the store's limit below the available memory",
          strerror(errno)) != 0) {
    delete h;
    throw nb::python_error();
  }
  h->take_spill_file(spill);
  h->header->spill_note.store(spill_note);
  h->header->disk_left = disk_left;
  h->header->full_wait_ns = uint64_t(full_wait * 1e9);
  h->header->ordering = Ordering(ordering);
  h->header->patience_ns = patience.first < 1e9 ? uint64_t(patience.first * 1e9) : kForeverNs;
  h->header->patience_share = patience.second;
  h->header->digesting = Digest(digesting);
  h->header->journaling = journaling;
  h->procs[0].kind = head ? ProcKind::Supervisor : ProcKind::Driver;
  h->procs[1].kind = ProcKind::Supervisor;
  h->header->proc_high.store(2);
  const uint32_t one_cpu = add_demand(h->header, {{kUnit, kCpu}}), nothing = add_demand(h->header, {});
  if (one_cpu != kOneCpu || nothing != kNothing) throw std::logic_error("reactor: a run has demands before its first ones");
  open_context(h, 0, false, -1, inline_mode ? std::make_unique<Inline>() : std::make_unique<Placement>());
  return h->fd();
}

constexpr uint64_t kLeavingNs = 5000000000;  // a thread that takes longer runs code of the user's, from inside of a call

// From here on refs are stale, nothing new begins, and threads that wait give up; those that are in the core, except this one, leave it.
void wait_until_others_are_outside() {
  ++epoch;
  ctx->closing = true;
  const uint64_t deadline = now_ns() + kLeavingNs;
  while (Inside::all > Inside::own && now_ns() < deadline) {
    ring(ctx->heap, &ctx->proc->bell);
    for (Bell* bell : ctx->waits.seats) ring(ctx->heap, bell);
    Py_BEGIN_ALLOW_THREADS
    timespec t{0, 200000};
    nanosleep(&t, nullptr);
    Py_END_ALLOW_THREADS
  }
}

// A driver that came to the session from outside: others go on. What its arrays lie over stays held until the process ends, all else is given back.
void leave_to_others() {
  Context* c = ctx;
  c->local.failure_unseen = nullptr;  // nobody is left to be told
  c->local.hold_list.clear_all(Entry::Hold, [&](Off off) { drop_hold(c->local, c->heap->at<Object>(off)); });
  c->local.hold_list.clear_all(Entry::Code, [&](Off off) { drop_code(c->local, c->heap->at<Object>(off)); });
  c->local.hold_list.clear_all(Entry::Weak, [&](Off off) { drop_weak(c->local, c->heap->at<Object>(off)); });
  c->local.hold_list.clear_all(Entry::Channel,
                               [&](Off off) { c->heap->at<Channel>(off)->closed.store(ProducerState::Closed, memory_order_release); });
  if (c->proc->awake.exchange(0)) c->header->awake.fetch_sub(1);
  has_none(c->header, c->proc);
  c->proc->bell.sleeping.store(1);
}

// Leaves the run; refs and handles of it become stale, arrays over its memory stay valid. Returns whether there are such arrays.
bool close_context() {
  if (!ctx || ctx->closing) return false;
  wait_until_others_are_outside();
  if (ctx->is_driver && ctx->slot != 0) leave_to_others();
  ctx->placement->end();
  Context* old = ctx;
  ctx = nullptr;
  arrives_as_bytes = false;
  ++epoch;
  for (auto& [id, entry] : old->actors) entry.methods.reset();
  std::exchange(old->functions.all, {}).clear();
  const bool shown = old->heap->users > 1 || lends_from(old->heap);
  Context::release(old);
  forget_channels();
  // The next run in this process may be another plugin's.
  hooks.each([](const char*, AnyHook& hook, Hooks::Until until) {
    if (until == Hooks::Until::Run) hook.set(nullptr);
  });
  return shown;
}

// In a process that was forked: forget the parent's context without giving anything back.
void detach() {
  if (!ctx) return;
  ctx = nullptr;
  ++epoch;
  Inside::all = Inside::own;  // the other threads are not here
  forget_channels();
}

// The same for a child that the program has forked. The mapping goes with the last array over it, at once if there is none: the child
// must not keep the run's memory longer than its parent has it.
void leave_to_parent() {
  if (!ctx) return;
  forked_in = epoch;
  Heap* heap = ctx->heap;
  detach();
  if (!lends_from(heap) && --heap->users == 0) delete heap;
}

void attach_supervisor(int fd, int control, int spill) {
  Heap* h = Heap::attach(fd);
  h->take_spill_file(spill);
  open_context(h, 1, false, control);
}

// In the driver of this number of a session that was there before; `slot` is its entry, and what it holds is noted there as a worker's.
void attach_driver(int fd, uint32_t slot, int control, int spill, uint64_t number) {
  Heap* h = Heap::attach(fd);
  h->take_spill_file(spill);
  open_context(h, slot, true, control);
  ctx->roots = number << kDriverBits;
}

void begin_worker(Heap* h, uint32_t slot, int control) {
  open_context(h, slot, true, control);
  Proc* p = ctx->proc;
  if (Off in = p->inbox.load()) h->at<Inbox>(in)->proc.store(slot, memory_order_seq_cst);
  if (p->kind == ProcKind::Pool) {
    for (int i = 0; i < kPool; ++i) {
      uint32_t none = 0;
      if (ctx->header->pool[i].compare_exchange_strong(none, slot + 1)) {
        uint32_t high = ctx->header->pool_high.load();
        while (uint32_t(i) + 1 > high && !ctx->header->pool_high.compare_exchange_weak(high, uint32_t(i) + 1)) {}
        break;
      }
    }
    if (!p->setting) ctx->header->spawn_asked.store(0, memory_order_release);  // else when it is ready, in serve(): one of its kind will do
  }
}

// In a freshly forked worker: the heap is mapped already.
void attach_worker(uint32_t slot, int control) {
  Heap* h = ctx->heap;
  detach();
  begin_worker(h, slot, control);
}

// In a worker whose interpreter is not the zygote's.
void attach_new_worker(int fd, uint32_t slot, int control, int spill) {
  Heap* h = Heap::attach(fd);
  h->take_spill_file(spill);
  begin_worker(h, slot, control);
}

// In a new run of timed order, before its other processes begin. Without durations the run is measured. `series`, sorted, names the calls whose durations
// are known; the calls of series i are first_call[i] to first_call[i + 1], and the durations (ticks) of call k are first_duration[k] to first_duration[k + 1].
void begin_timed_order(bool measured, const std::vector<uint64_t>& series, const std::vector<uint32_t>& first_call,
                       const std::vector<uint32_t>& first_duration, const std::vector<uint32_t>& durations) {
  make_timed_table(ctx->local, measured, series, first_call, first_duration, durations);
  begin_timed(ctx->heap->at<TimedTable>(ctx->header->timed.load(memory_order_acquire)));
  ctx->driver_strand = ctx->timed->begin_driver();
}

// What the run has measured so far (see Timed::record). The driver's own strand ends with it.
nb::bytes timed_records() {
  need_ctx();
  if (!ctx->timed) return nb::bytes("", 0);
  if (ctx->driver_strand) ctx->timed->leave(*std::exchange(ctx->driver_strand, nullptr));
  ctx->timed->record_unfinished();
  std::string all;
  const auto* table = ctx->heap->at<TimedTable>(ctx->header->timed.load(memory_order_acquire));
  for (Off off = table->records.load(memory_order_acquire); off; off = ctx->heap->at<TimedChunk>(off)->next) {
    auto* chunk = ctx->heap->at<TimedChunk>(off);
    all.append(reinterpret_cast<const char*>(chunk + 1), chunk->used.load(memory_order_acquire));
  }
  return nb::bytes(all.data(), all.size());
}

// In timed order: the actor of this process. 0: there is none, or its calls run as they come.
Index server_here() {
  const Inbox* in = ctx && ctx->timed ? inbox() : nullptr;
  if (!in) return 0;
  const uint32_t order = in->order.load(memory_order_seq_cst);
  return order & kPhysical && !(order & kLoop) ? 0 : in->timed;
}

// The same in the thread of its event loop, 0 elsewhere.
Index server_of_loop() {
  need_ctx();
  return ctx->timed && ctx->timed->in_loop() ? server_here() : 0;
}

// In the thread of an actor's event loop: asks the hook `woken` to be called with the number that this gives, when the ref is done. 0: it will not be.
uint32_t timed_await(nb::handle ref) {
  const Index server = server_of_loop();
  Object* o = ref_object(ref.ptr());
  if (!o) throw nb::python_error();
  return server ? ctx->timed->await(ctx->strand(), server, ctx->heap->off(o)) : 0;
}

// Likewise, when `delay` seconds are over; in a measured run, when timed_timer_is_due was called. 0: it will not be.
uint32_t timed_timer(double delay) {
  const Index server = server_of_loop();
  return server ? ctx->timed->set_timer(ctx->strand(), server, delay > 0 ? Tick(std::min(delay * 1e6 + 0.5, 1e18)) : 0) : 0;
}

// Seconds since the run began, as the event loop of an actor shows them. None: what runs there is no operation of the program.
nb::object timed_loop_time() {
  OwnStrand* strand = ctx && ctx->timed && ctx->timed->in_loop() ? ctx->strand() : nullptr;
  return strand ? nb::float_(double(strand->clock) * 1e-6) : nb::object(nb::none());
}

// ns since the run of timed order began, by its order. None: there is no such run.
nb::object timed_clock() { return ctx && ctx->timed ? nb::int_(1000 * ctx->timed->read_clock(ctx->strand())) : nb::object(nb::none()); }

uint32_t timed_lost() {
  need_ctx();
  return ctx->timed ? ctx->heap->at<TimedTable>(ctx->header->timed.load())->lost.load() : 0;
}

void set_hook(const char* name, nb::object f) {
  bool known = false;
  hooks.each([&](const char* its_name, AnyHook& hook, Hooks::Until) {
    if (known || strcmp(its_name, name) != 0) return;
    known = true;
    hook.set(f.is_none() ? nullptr : f.release().ptr());
  });
  if (!known) throw nb::value_error("no such hook");
}

// For the supervisor of the run of this epoch. 0 or errno: EAGAIN, if its socket is full.
int send_message(uint32_t of, nb::bytes data) {
  if (!ctx || of != epoch) return ESHUTDOWN;
  Inside inside;  // the run's memory stays until the end of this
  return send_to_supervisor(data.c_str(), data.size(), false);
}

}  // namespace

void bind_run(nb::module_& m) {
  m.def("create", &create, nb::arg("capacity"), nb::arg("store_limit"), nb::arg("cores"), nb::arg("inline_mode"), nb::arg("patience"),
        nb::arg("spill") = -1, nb::arg("spill_note") = 0, nb::arg("ordering") = 0, nb::arg("digesting") = 0, nb::arg("journaling") = false,
        nb::arg("head") = false, nb::arg("full_wait") = 0.0, nb::arg("disk_left") = 0.05);
  m.def("begin_timed_order", &begin_timed_order, nb::arg("measured"), nb::arg("series"), nb::arg("first_call"), nb::arg("first_duration"),
        nb::arg("durations"));
  m.def("timed_records", &timed_records);
  m.def("timed_lost", &timed_lost);
  m.def("timed", [] { return ctx && ctx->timed; });
  m.def("timed_actor", [] { return server_here() != 0; });
  // Whether the operations of this thread have times, but for an actor's event loop.
  m.def("timed_here", [] { return ctx && ctx->timed && !ctx->timed->in_loop() && ctx->strand(); });
  m.def("timed_loop", [] {
    if (ctx && ctx->timed) ctx->timed->loop_begins();
  });
  m.def("timed_burst", [](bool begins) {
    if (!ctx || !ctx->timed) return;
    if (begins) ctx->timed->burst_begins();
    else ctx->timed->burst_over();
  });
  m.def("timed_await", &timed_await, nb::arg("ref"));
  m.def("timed_timer", &timed_timer, nb::arg("delay"));
  m.def("timed_timer_is_due", [](uint32_t number) {
    if (ctx && ctx->timed) ctx->timed->timer_is_due(number);
  });
  m.def("timed_cancel_timer", [](uint32_t number) {
    if (ctx && ctx->timed) ctx->timed->cancel_timer(number);
  });
  m.def("timed_has_failed", [](nb::handle ref) {
    Object* o = ref_object(ref.ptr());
    if (!o) throw nb::python_error();
    return ctx->timed && ctx->timed->has_failed(o);
  });
  m.def("timed_loop_time", &timed_loop_time);
  m.def("timed_base", [] { return ctx && ctx->timed ? ctx->timed->base() : 0; });
  m.def("timed_measured", [] { return ctx && ctx->timed && ctx->timed->measured(); });
  m.def("timed_clock", &timed_clock);
  m.def("timed_name", [](const std::string& name) { return timed_name(name); });
  m.def("close", &close_context);
  m.def("detach", &leave_to_parent);
  m.def("attached", [] { return ctx != nullptr; });
  m.def("inside", [] { return Inside::own != 0; });
  m.def("epoch", [] { return epoch; });
  m.def("slot", [] { return ctx ? int(ctx->slot) : -1; });
  m.def("logical", [] { return ctx && ctx->logical; });
  m.def("set_control", [](int fd) { ctx->heap->control = Descriptor(fd); });
  m.def("attach_supervisor", &attach_supervisor, nb::arg("fd"), nb::arg("control"), nb::arg("spill") = -1);
  m.def("attach_driver", &attach_driver, nb::arg("fd"), nb::arg("slot"), nb::arg("control"), nb::arg("spill"), nb::arg("number"));
  m.def("attach_worker", &attach_worker, nb::arg("slot"), nb::arg("control"));
  m.def("attach_new_worker", &attach_new_worker, nb::arg("fd"), nb::arg("slot"), nb::arg("control"), nb::arg("spill") = -1);
  m.def("set_hook", &set_hook, nb::arg("name"), nb::arg("function").none());
  m.def("abort", &abort_run);
  m.def("lost_descriptor", &lost_descriptor);
  m.def("move_high", &move_high);
  m.def("aborted", [] { return ctx && ctx->aborted; });
  m.def("set_ready", [] { ctx->proc->executed.store(1, memory_order_release); });
  m.def("supervisor_ready", [] { return ctx && ctx->heap->procs[1].executed.load(memory_order_acquire) != 0; });
  m.def("supervisor_pid", [] { return ctx ? ctx->heap->procs[1].pid : 0; });
  m.def("set_answering", [](bool is) { ctx->header->answering.store(is, memory_order_seq_cst); }, nb::call_guard<Using>());
  m.def("send_message", &send_message);
  m.def("die_with_parent", [](int signal) { prctl(PR_SET_PDEATHSIG, signal); }, nb::arg("signal") = int(SIGKILL));
  m.def("adopt_orphans", [] { prctl(PR_SET_CHILD_SUBREAPER, 1); });
}

}  // namespace reactor
