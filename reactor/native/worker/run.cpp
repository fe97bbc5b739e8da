// Running one message: its arguments, the call, what came out.
#include "worker/arguments.h"
#include "calls/calls.h"
#include "codec/digest.h"
#include "calls/failures.h"
#include "worker/functions.h"
#include "worker/leaving.h"
#include "supervise/restarts.h"
#include "supervise/supervisor.h"
#include "worker/scopes.h"
#include "calls/stream.h"
#include "process/title.h"
#include "worker/results.h"
#include "worker/run.h"

namespace reactor {

Inbox* inbox() {
  Off off = ctx->proc->inbox.load(memory_order_relaxed);
  return off ? ctx->heap->at<Inbox>(off) : nullptr;
}

namespace {

// The first argument ref that ended without a value, or null. All such are seen by this.
Object* failed_argument(Message* m) {
  auto* v = message_value(ctx->heap, m);
  Off* deps = value_refs(v);
  Object* first = nullptr;
  for (uint32_t i = 0; i < v->deps(); ++i) {
    auto* o = ctx->heap->at<Object>(deps[i]);
    if (o->state.load(memory_order_acquire) == State::Value) continue;
    mark_seen(o);
    if (!first) first = o;
  }
  return first;
}

// The exception that getting `o` would raise, set as the current Python error.
void set_error_of(Object* o) {
  Owned value(failure_value(o));
  Owned error = value ? hooks.error(o->state.load(memory_order_acquire), std::move(value), nullptr) : Owned();
  if (error) set_error(error.get());
}

// Tells who keeps a record of the run of the running call; false, and an exception, if that raises.
template <class... More> bool tell_of_call(const Hook<uint32_t, Owned, More...>& hook, uint32_t actor, More... more) {
  return !ctx->journaling || !hook || hook(actor, Owned(tag_tuple(ctx->here)), more...);
}

// Where a new actor's `count` methods are noted. The memory of one that is gone is used again and not freed: a call of it may be running.
size_t place_for_notes(size_t count) {
  auto& all = ctx->notes.actors;
  for (size_t tries = all.size() < kNotedActors ? 0 : all.size(); tries; --tries) {
    size_t& at = ctx->notes.first_gone;
    at = at + 1 < all.size() ? at + 1 : 0;
    if (!all[at].gone || all[at].count != count) continue;
    all[at].gone = false;
    for (size_t i = 0; i < count; ++i) all[at].notes[i] = MethodNote{};
    return at;
  }
  all.push_back({std::unique_ptr<MethodNote[]>(new MethodNote[count]), count});
  return all.size() - 1;
}

// An actor was made here. `instance`: what the hook create gives. False, and a Python error: it is no such thing.
bool add_instance(uint32_t actor, PyObject* instance) {
  auto field = [instance](const char* name) { return Owned(PyObject_GetAttrString(instance, name)); };
  Owned methods = field("methods"), handed_on = field("handed_on"), lanes = field("lanes"), digest = field("digest"),
        script = field("script"), several = field("several");
  if (!methods || !handed_on || !lanes || !digest || !script || !several) return false;
  const size_t noted = place_for_notes(size_t(PyList_GET_SIZE(methods.get())));
  ActorEntry entry{std::move(methods), handed_on.get() == Py_True, ctx->notes.actors[noted].notes.get(), noted, 0, {}};
  entry.digest = PyLong_AsUnsignedLongLong(digest.get());
  entry.several = several.get() == Py_True;
  follow_script(actor, script.get());
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(lanes.get()); ++i)
    entry.lanes.push_back(int32_t(PyLong_AsLong(PySequence_Fast_GET_ITEM(lanes.get(), i))));
  ActorEntry& place = ctx->actors[actor];
  if (place.methods) ctx->notes.actors[place.noted].gone = true;  // of before it was restarted, inline
  std::swap(place, entry);
  if (Inbox* own = inbox()) refuse_sent_meanwhile(own);
  ctx->proc->constructed.store(1, memory_order_release);
  return true;
}

// One message: take(), then, unless it was cancelled, invoke() and settle(), then digest() and finish().
class MessageRun {
 public:
  MessageRun(Message* m, Receiver* from, uint32_t task_note);
  void take();
  bool cancelled() const { return cancelled_; }
  void invoke();
  void settle();
  void digest();
  bool finish();  // true: the message is to be run once more
  bool handed_on() const { return handed_on_; }
  Owned broken_off;  // inline: what a signal has raised in the call, for its caller

 private:
  void read_arguments();
  void give_record_back();
  void find_callable();
  void find_method();
  void begin_recording();
  void begin_titles();
  void call();
  void hand_on();
  void construct();
  bool store_value();
  bool store_error();
  void leave_or_store();
  // Whether the call was cancelled while its generator ran.
  bool cancelled_late() const { return first_->cancellation.load(memory_order_acquire) == Cancellation::Running; }
  ExitReason exit_wanted();
  void settle_departure();
  void leave_call();
  uint64_t digest_of_start(ActorEntry* entry) const;
  void tell_executed();
  void put_off();
  void leave_actor();
  bool is_task() const { return kind_ == MessageKind::Task; }

  // What the message says; it may be given back before the call.
  Message* const m_;
  Receiver* const from_;
  const uint32_t task_note_;
  const uint32_t n_, nargs_, actor_, method_;
  const uint8_t flags_;
  const MessageKind kind_;
  const Off function_;
  InlineArray<Off, 4> results_;
  InlineArray<uint32_t, 4> notes_;
  Object* const first_;
  bool cancelled_ = false;

  std::optional<TagScope> tag_;
  std::unique_ptr<OwnStrand> strand_;  // in timed order
  Placement& placement_ = *ctx->placement;
  RunningCall call_;
  RunningScope running_{call_};
  RecordingScope recording_;
  Arguments args_;
  std::optional<SavedError> error_;  // of an argument, while the record is given back
  bool of_argument_ = false;         // the error is that of an argument: it failed elsewhere, or cannot be read here
  bool has_arguments_ = false;
  uint64_t digest_ = 0;              // of what has passed: arguments, then results
  uint64_t given_digest_ = 0;        // of the arguments
  Owned raised_;                     // what it has raised, where a record of the run is kept
  Owned options_;                    // keeps `function_`, of a call that was not a task, until it is loaded

  Owned callable_, value_;
  bool handed_on_ = false;           // to a thread or an event loop, which will give the results
  MethodNote* note_ = nullptr;       // what is noted of the call for the recording
  Titles::Known* title_ = nullptr;
  bool seeded_ = false;              // the random state is the task's own
  uint64_t started_ = 0;             // ns, where all times are kept; else, of a call that is handed on, timestamp()
  uint64_t begun_ = 0, ended_ = 0;   // timestamp() of a call that was timed
  std::optional<Stream> stream_;
  ExitReason leaving_ = ExitReason::Unknown;
  bool results_final_ = false;       // the call ends the actor, and all its results are there
  bool again_ = false;               // inline: the actor was restarted in the middle of this call, which is run once more
  bool put_off_ = false;             // a task that has failed and is run again later
};

MessageRun::MessageRun(Message* m, Receiver* from, uint32_t task_note)
    : m_(m), from_(from), task_note_(task_note), n_(m->results), nargs_(m->args), actor_(m->kind == MessageKind::Task ? 0 : m->actor),
      method_(m->method), flags_(m->flags), kind_(m->kind), function_(m->function), results_(n_), notes_(n_),
      first_(ctx->heap->at<Object>(m->result)),
      call_{actor_, results_.data(), n_, first_->uid, from_ ? nullptr : m_, nullptr, (flags_ & kStreaming) != 0}, args_(m) {}

// ---- take

// Notes the results in the hold list and claims them, reads the arguments, and gives the record back: in this order, so that the record and
// the note never both miss.
void MessageRun::take() {
  if (ctx->timed && (strand_ = ctx->timed->starts(first_->uid))) call_.strand = strand_.get();
  for (uint32_t i = 0; i < n_; ++i) {
    results_[i] = m_->result_at(i);
    notes_[i] = ctx->local.hold_list.add(results_[i], Entry::Run);
  }
  State pending = State::Pending;
  cancelled_ = !first_->state.compare_exchange_strong(pending, State::Running, memory_order_acq_rel);
  if (!cancelled_ && is_task() && flags_ & kLate && cancelled_late()) {  // between two runs of it
    cancelled_ = true;
    first_->state.store(State::Cancelled, memory_order_relaxed);
  }
  for (Off off : results_) ctx->heap->at<Object>(off)->runner.store(ctx->mark, memory_order_seq_cst);
  tag_.emplace(m_);
  if (!cancelled_) running_.enter();
  read_arguments();
  // A constructor's arguments show in what the actor does; among them is what differs from run to run.
  if (ctx->digesting && kind_ != MessageKind::Create)
    digest_ = given_digest_ = hash_value(ctx->heap, reinterpret_cast<uint8_t*>(message_value(ctx->heap, m_)),
                                         kind_ == MessageKind::Call ? method_ : 0, ctx->whole);
  give_record_back();
  if (!cancelled_) return;
  for (uint32_t i = 1; i < n_; ++i) ctx->heap->at<Object>(results_[i])->state.store(State::Cancelled, memory_order_relaxed);
}

void MessageRun::read_arguments() {
  Owned refused(std::exchange(refusal, nullptr));
  if (cancelled_) return;
  if (Object* bad = failed_argument(m_)) {
    of_argument_ = true;
    set_error_of(bad);
  } else if (refused) {
    set_error(refused.get());
  } else {
    of_argument_ = !args_.take(m_);
  }
  if (PyErr_Occurred()) error_.emplace();
  has_arguments_ = !error_;
}

// Of a message in a channel. A task keeps its holds to the end: if this worker dies it is run again.
void MessageRun::give_record_back() {
  if (!from_) return;
  if (function_) options_.reset(new_ref(ctx->heap->at<Object>(function_), true));
  release_message(ctx->local, m_);
  from_->pop(m_);
}

// ---- invoke

void MessageRun::invoke() {
  running_.begin();
  ctx->proc->executed.store(ctx->proc->executed.load(memory_order_relaxed) + 1, memory_order_relaxed);
  find_callable();
  if (!error_ && PyErr_Occurred()) error_.emplace();  // also the interrupt of a cancellation; what follows runs Python
  call_.callable = callable_.get();
  begin_recording();
  seeded_ = hooks.task_random && is_task() && ctx->tagged && !error_;
  if (seeded_ && !hooks.task_random(Owned(tag_tuple(ctx->here)))) error_.emplace();
  begin_titles();
  placement_.method_begins();
  started_ = ctx->timeline.tracing ? now_ns() : handed_on_ ? timestamp() : 0;
  const Beginning how = error_ ? Beginning::Fails : handed_on_ ? Beginning::HandedOn : Beginning::Here;
  const bool may_begin = kind_ == MessageKind::Create || tell_of_call(hooks.call_started, actor_, how);
  if (error_ || !may_begin) handed_on_ = false;
  if (error_) error_.reset();  // it is what the call raises
  else if (may_begin && callable_ && handed_on_) hand_on();
  else if (may_begin && callable_) call();
  else if (may_begin && kind_ == MessageKind::Create) construct();
  if (!placement_.method_returned(call_)) {
    value_.reset();
    PyErr_Clear();
  }
  if (value_ && !handed_on_ && flags_ & kStreaming) {
    stream_.emplace(results_.data(), notes_.data(), from_ ? nullptr : m_, callable_.get(), kind_ == MessageKind::Call);
    if (!stream_->drain(value_.get())) value_.reset();
  }
  if (!value_ && !call_.discarded && !PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, "reactor: call failed without an exception");
}

void MessageRun::find_callable() {
  if (kind_ == MessageKind::Call) return find_method();
  if (!is_task()) return;
  MethodNote* about = nullptr;
  callable_ = function_of(function_, &about);
  if (ctx->recorder) note_ = about;
  if (about) title_ = &about->title;
}

void MessageRun::find_method() {
  const ActorEntry* found = ctx->actors.find(actor_);
  if (!found) return PyErr_SetString(PyExc_RuntimeError, "reactor: the actor has no instance in this process");
  const ActorEntry& entry = *found;
  callable_ = Owned::share(PyList_GET_ITEM(entry.methods.get(), method_));
  handed_on_ = entry.deferred;
  if (ctx->recorder && !handed_on_) note_ = &entry.notes[method_];
  if (function_) {  // loading it runs Python code: from here on the entry may be another
    callable_ = wrapped(std::move(callable_), function_);
    if (callable_ && !handed_on_ && placement_.hands_calls_on()) handed_on_ = has_group(callable_.get());
  } else {
    title_ = &entry.notes[method_].title;
  }
  options_.reset();
  if (handed_on_) note_ = nullptr;
}

// Calls that several threads of one process run beside each other have no serial order: none of them is recorded.
void MessageRun::begin_recording() {
  if (handed_on_ || !ctx->recorder || PyThread_get_thread_ident() != ctx->main_thread) return;
  const uint64_t who = is_task() ? ctx->heap->at<Object>(function_)->uid
                                 : uint64_t(actor_) << 16 | (kind_ == MessageKind::Create ? 0xffff : method_) | 1ull << 63;
  recording_.begin(ctx->recorder, who, callable_.get(), actor_);
}

void MessageRun::begin_titles() {
  if (!handed_on_) titles.run(callable_.get(), kind_ == MessageKind::Create, title_);
  if (is_task()) titles.leave(ctx->proc->running, sizeof ctx->proc->running);
}

void MessageRun::call() {
  begun_ = note_ && note_->begin(callable_.get(), actor_) ? timestamp() : 0;
  const uint32_t mine = epoch;
  value_.reset(PyObject_Vectorcall(callable_.get(), args_.begin(), nargs_ | PY_VECTORCALL_ARGUMENTS_OFFSET, args_.names()));
  end_if_forked_since(mine);
  if (begun_) {
    ended_ = timestamp();
    note_->ticks += ended_ - begun_;
    ++note_->timed;
  }
}

void MessageRun::hand_on() {
  PyCompletion* completion = new_completion(results_.data(), notes_.data(), n_, callable_.get(), flags_, started_,
                                            task_note_ == kNoEntry ? nullptr : m_, task_note_);
  Owned token(reinterpret_cast<PyObject*>(completion));
  ArgsAndKwargs given(args_, nargs_);
  if (token && ctx->digesting) {  // at once: the call may have ended before the hook returns
    completion->given_digest = given_digest_;
    completion->digest = digest_of_start(kind_ == MessageKind::Call ? ctx->actors.find(actor_) : nullptr);
    if (ctx->journaling) {
      completion->tag = tag_tuple(ctx->here);
      completion->given = PyTuple_Pack(2, given.args.get(), given.kwargs ? given.kwargs.get() : Py_None);
      PyErr_Clear();
    }
  }
  call_.strand = nullptr;
  if (strand_) ctx->timed->hand_on(std::move(strand_));  // at once, likewise
  if (token) value_ = hooks.deferred(actor_, method_, callable_.get(), given.args.get(), given.kwargs.get(), token.get());
  token.reset();
  if (value_) return;
  handed_on_ = false;
  if (ctx->timed) strand_ = ctx->timed->take_back(first_->uid);
}

void MessageRun::construct() {
  ArgsAndKwargs given(args_, nargs_);
  const uint32_t mine = epoch;
  const Owned instance = hooks.create(actor_, given.args.get(), given.kwargs.get());
  end_if_forked_since(mine);
  if (instance && add_instance(actor_, instance.get())) value_ = Owned::share(Py_None);
}

// ---- settle

// Writes what came out into the results, which are completed in finish().
void MessageRun::settle() {
  ctx->breaking_off.reset();
  if (std::exchange(ctx->run_later, false) && is_task() && PyErr_Occurred() && !cancelled_late()) {
    PyErr_Clear();
    put_off_ = true;
  } else if (call_.discarded) {
  } else if (ctx->departing && ctx->departing == actor_ && !handed_on_) {  // whatever the method has made of it
    ctx->departing = 0;
    value_.reset();
    leaving_ = ExitReason::Intended;
    settle_departure();
  } else if (!handed_on_ && !stream_ && kind_ == MessageKind::Call && !failed_itself() && was_cancelled(results_.data(), n_)) {
    PyErr_Clear();
  } else if (!value_ || (!handed_on_ && !store_value())) {
    leave_or_store();
  } else if (kind_ == MessageKind::Call && !handed_on_ && (flags_ & kDynamic || PyGen_CheckExact(value_.get())) && cancelled_late()) {
    forget_stored(results_.data(), n_);
    was_cancelled(results_.data(), n_);
  }
  broken_off = std::exchange(ctx->breaking_off, Owned());
  leave_call();
}

// False, and an exception: it ends the process or the actor.
bool MessageRun::store_value() {
  if (!ctx->journaling) args_.drop_arrays();  // who keeps a record looks at arguments and result afterwards
  if (stream_) return stream_->end(), true;
  if (flags_ & kDynamic) return store_gathered(results_.data(), value_.get(), callable_.get());
  return store_results(results_.data(), n_, value_.get(), callable_.get(), note_, Py_REFCNT(value_.get()) == 1 && !ctx->journaling);
}

bool MessageRun::store_error() {
  if (ctx->journaling) {
    SavedError error;
    raised_ = Owned::share(error.exception());
  }
  if (note_ && note_->calls) ++note_->failed;
  return stream_ ? stream_->fail() : store_failure(results_.data(), n_, callable_.get(), of_argument_);
}

// Handles the current Python error: it ends the actor or the process, or is stored as the result. Storing it may raise the next error.
void MessageRun::leave_or_store() {
  do leaving_ = exit_wanted();
  while (leaving_ == ExitReason::Unknown && !store_error());
  if (leaving_ != ExitReason::Unknown) return settle_departure();
  if (kind_ != MessageKind::Create) return;
  leaving_ = ExitReason::CreationFailed;
  note_death(actor_, results_[0], leaving_);
}

// Whether the current Python error says that the actor, or this process, is to end.
ExitReason MessageRun::exit_wanted() {
  if (!hooks.exit_kind || PyErr_ExceptionMatches(PyExc_Exception)) return ExitReason::Unknown;
  if (breaks_off()) return ExitReason::Unknown;
  SavedError error;
  Owned kind = hooks.exit_kind(error.exception());
  return kind ? ExitReason(PyLong_AsLong(kind.get())) : ExitReason::Unknown;
}

// The actor ends with this call. If the process ends with it, the supervisor completes what is noted as running. If a generator ends the
// actor after the last result, the results stay.
void MessageRun::settle_departure() {
  PyErr_Clear();
  if (ctx->departing == actor_) ctx->departing = 0;
  results_final_ = kind_ != MessageKind::Create && !stream_;
  for (Off off : results_) results_final_ = results_final_ && ctx->heap->at<Object>(off)->state.load(memory_order_relaxed) == State::Value;
  if (!placement_.outlives_actors()) return;
  Off reason = 0;
  if (!results_final_) forget_stored(results_.data(), n_);
  const bool lives_on = kind_ == MessageKind::Call && restarted(actor_, leaving_, reason);
  again_ = lives_on && !results_final_ && take_retry(m_) > 0;
  if (!lives_on) reason = note_death(actor_, 0, leaving_);
  for (Off off : results_) {
    if (again_ || results_final_) break;
    if (reason) take_hold(ctx->heap->at<Object>(reason));
    memcpy(ctx->heap->at<Object>(off)->body, &reason, sizeof reason);
    ctx->heap->at<Object>(off)->state.store(State::Died, memory_order_release);
  }
  if (lives_on) drop_hold(ctx->local, ctx->heap->at<Object>(reason));
}

// The method has returned: the process is as it was before.
void MessageRun::leave_call() {
  placement_.results_stored();
  recording_.end();
  titles.idle();
  if (is_task()) ctx->proc->running[0] = 0;
  if (seeded_) placement_.task_left();
  if (ctx->unflushed && hooks.flush) {
    ctx->unflushed = false;
    SavedError error;
    hooks.flush();
  }
  if (!handed_on_ && ctx->timeline.tracing) ctx->timeline.add(started_, Span::Call, actor_, 0, callable_.get(), first_);
  else if (!handed_on_ && ended_) ctx->timeline.keep_timed(begun_, ended_, actor_, note_->name, first_);
  if (!handed_on_) ctx->unheard.keep(ctx->heap, first_, ctx->children);  // at once: from here on the call is not found here
  running_.end();
  stream_.reset();
}

// ---- finish

// An actor that runs several calls at once: what it has been given so far, in the order in which its calls began.
uint64_t MessageRun::digest_of_start(ActorEntry* entry) const {
  return entry ? entry->digest = mix(entry->digest, given_digest_) : given_digest_;
}

// Adds what has passed, arguments and results, to the digest of this process. That of an actor depends on all its calls so far. If it runs several
// at once, they end in an order that differs between runs: then on their arguments only, and each call adds its own results to those.
void MessageRun::digest() {
  if (!ctx->digesting || handed_on_ || put_off_ || kind_ == MessageKind::Create || leaving_ != ExitReason::Unknown) return;
  ActorEntry* entry = kind_ == MessageKind::Call ? ctx->actors.find(actor_) : nullptr;
  const bool several = entry && entry->several;
  uint64_t all = several ? digest_of_start(entry) : 0;
  for (Off off : results_) {
    if (flags_ & kStreaming) break;
    if (several) all = hash_result(ctx->heap, ctx->heap->at<Object>(off), all, ctx->whole);
    if (!several || ctx->journaling) digest_ = hash_result(ctx->heap, ctx->heap->at<Object>(off), digest_, ctx->whole);
  }
  if (ctx->journaling && hooks.executed && !call_.discarded) tell_executed();
  entry = kind_ == MessageKind::Call ? ctx->actors.find(actor_) : nullptr;  // the hook has run Python
  if (!several) all = entry ? entry->digest = mix(entry->digest, digest_) : digest_;
  ctx->proc->digest.fetch_add(all, memory_order_relaxed);
}

void MessageRun::tell_executed() {
  ArgsAndKwargs given(args_, has_arguments_ ? nargs_ : 0);
  const Owned both(has_arguments_ && given.args ? PyTuple_Pack(2, given.args.get(), given.kwargs ? given.kwargs.get() : Py_None) : nullptr);
  PyErr_Clear();
  const bool interrupted = first_->cancellation.load(memory_order_acquire) == Cancellation::Running;
  hooks.executed.tell(actor_, callable_.get(), Owned(tag_tuple(ctx->here)), given_digest_, digest_, both.get(), value_.get(), raised_.get(),
                      interrupted, false);
}

bool MessageRun::finish() {
  // The instance may die with these; its destructor may make calls.
  args_.drop();
  options_.reset();
  value_.reset();
  callable_.reset();
  leave_actor();
  if (again_) {
    for (Off off : results_) ctx->heap->at<Object>(off)->state.store(State::Pending, memory_order_relaxed);
    return true;
  }
  if (put_off_) {
    put_off();
  } else if (!handed_on_) {
    if (strand_) ctx->timed->ends(*strand_, results_.data(), n_);
    finish_results(results_.data(), notes_.data(), n_, task_note_);
    if (strand_) ctx->timed->ended();
    if (kind_ != MessageKind::Create && !cancelled_ && !tell_of_call(hooks.call_finished, actor_)) hooks.call_finished.complain();
  }
  forget_arguments();
  tell_failures();
  if (handed_on_ && tag_) tag_->stay();
  return false;
}

// The results are as before the call. Their holds are the message's, of which the block's note tells.
void MessageRun::put_off() {
  for (uint32_t i = 0; i < n_; ++i) {
    auto* o = ctx->heap->at<Object>(results_[i]);
    o->runner.store(kNoProc, memory_order_relaxed);
    o->state.store(State::Pending, memory_order_seq_cst);
    ctx->local.hold_list.clear(notes_[i]);
  }
  ctx->was_put_off = true;
}

void MessageRun::leave_actor() {
  if (!cancelled_) placement_.call_ends(call_, leaving_);
  if (leaving_ == ExitReason::Unknown || placement_.outlives_actors()) return;
  if (strand_ && (leaving_ == ExitReason::CreationFailed || results_final_)) ctx->timed->ends(*strand_, results_.data(), n_);
  if (leaving_ == ExitReason::CreationFailed) finish_results(results_.data(), notes_.data(), n_);
  else if (results_final_) finish_results(results_.data(), notes_.data(), n_, task_note_);
  leave(leaving_);  // the supervisor completes what is noted as running
}

}  // namespace

// Runs one message. From a channel, the record is given back to the caller before the user's code starts, with the results noted
// in the hold list: the record and the note never both miss. `task_note`: the message is a block of its own with this note, which
// the caller of this function gives back when it returns false; true: the call was handed on, and the block with it.
bool run_message(Message* m, Receiver* from, uint32_t task_note, Owned* broken_off) {
  for (;; from = nullptr, task_note = kNoEntry) {
    delay();
    MessageRun run(m, from, task_note);
    run.take();
    if (!run.cancelled()) {
      run.invoke();
      run.settle();
    }
    run.digest();
    const bool again = run.finish();
    if (broken_off) *broken_off = std::move(run.broken_off);
    if (!again) return run.handed_on();
  }
}

}  // namespace reactor
