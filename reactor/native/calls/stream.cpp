#include "calls/stream.h"
#include "codec/codec_tags.h"
#include "calls/failures.h"
#include "worker/inline.h"
#include "worker/leaving.h"
#include "supervise/restarts.h"
#include "worker/results.h"

namespace reactor {
namespace {

LinkBody* link_body(Object* o) { return reinterpret_cast<LinkBody*>(o->body + kLinkBodyAt); }
ValueHeader* link_value(Object* o) { return reinterpret_cast<ValueHeader*>(o->body); }
static_assert(sizeof(ValueHeader) + 3 * sizeof(Off) <= kLinkBodyAt);

// Completed by whoever destroys the link; its value, None, is there from the beginning.
Object* new_ticket() {
  Object* o = new_object(ctx->local, 1);
  link_value(o)->set(1, 0, 0, 0);
  value_stream(link_value(o))[0] = None;
  o->size = ValueHeader::kBareSize + 1;
  return o;
}

// See limit_streams.
uint64_t most_values = UINT64_MAX;
std::string limited_by;

Object* object_at(Off off) { return ctx->heap->at<Object>(off); }

}  // namespace

void limit_streams(uint64_t most, std::string by) {
  most_values = most;
  limited_by = std::move(by);
}

Object* new_stream_link(const LinkBody& body, int32_t holds) {
  Object* o = new_object(ctx->local, holds, kStreamLink);
  *link_body(o) = body;
  return o;
}

StreamState stream_state(Object* link, Object* completion) {
  const bool over = is_done(completion);
  const State ended = completion->state.load(memory_order_acquire);
  const bool cancelled =
      completion->cancellation.load(memory_order_acquire) == Cancellation::Running || (over && ended == State::Cancelled);
  if (cancelled && !over) return StreamState::Cancelled;
  if (!cancelled) {
    if (is_done(link)) {
      bool value = link->state.load(memory_order_acquire) == State::Value;
      if (value && link_value(link)->refs()) return StreamState::Item;
      if (!over) return StreamState::Closing;
    } else if (!over) {
      return StreamState::Pending;
    }
  }
  return completion->state.load(memory_order_acquire) == State::Value ? StreamState::End : StreamState::Failed;
}

PyObject* next_item(PyRef* link, PyRef* completion, uint64_t deadline, PyObject* timed_out) {
  if (OwnStrand* strand = ctx->strand()) {
    std::vector<bool> there;
    const uint64_t now = now_ns();
    if (wait_in_time(*strand, &link, 1, 1, true, deadline == UINT64_MAX ? deadline : deadline > now ? deadline - now : 0, there) != 0)
      return nullptr;
    if (!there[0]) return Py_NewRef(timed_out);
    deadline = UINT64_MAX;  // it is being written
  }
  for (;;) {
    StreamState state = stream_state(link->object, completion->object);
    switch (state) {
      case StreamState::Item: {
        Off* refs = value_refs(link_value(link->object));
        Owned value(new_ref(object_at(refs[0]), true));
        Owned next(value ? new_ref(object_at(refs[1]), true) : nullptr);
        PyObject* both = next ? PyTuple_Pack(2, value.get(), next.get()) : nullptr;
        if (both && link_value(link->object)->refs() == 3) complete(ctx->local, object_at(refs[2]), State::Value);
        return both;
      }
      case StreamState::End:
      case StreamState::Failed: Py_RETURN_NONE;
      case StreamState::Pending:
      case StreamState::Cancelled:
      case StreamState::Closing: break;
    }
    if (!ctx->placement->may_wait("the next value of a generator that is run")) return nullptr;
    if (deadline <= now_ns()) return Py_NewRef(timed_out);
    PyRef* both[] = {link, completion};
    bool closing = state != StreamState::Pending;
    int e = wait_objects(both + closing, 2 - closing, 1, false, deadline);
    if (e == ETIMEDOUT) return Py_NewRef(timed_out);
    if (e < 0 || !ref_object(reinterpret_cast<PyObject*>(link))) return nullptr;
  }
}

Stream::Stream(Off* results, uint32_t* notes, Message* block, PyObject* name, bool of_method)
    : results_(results), notes_(notes), block_(block), name_(name), of_method_(of_method), at_(*link_body(object_at(results[1]))),
      skip_(at_.index) {
  at_.index = 0;
  at_.window = ctx->placement->window_of_stream(at_.window);
}

Stream::~Stream() {
  if (making_ && ctx) --ctx->streams.making;
}

bool Stream::was_cancelled() const { return object_at(results_[0])->cancellation.load(memory_order_acquire) == Cancellation::Running; }

bool Stream::publish(PyObject* value) {
  if (value && at_.index < skip_) {
    ++at_.index;
    return true;
  }
  if (value && at_.index >= most_values) {
    PyErr_Format(PyExc_ValueError, "a generator can give %llu values at most (%s)", static_cast<unsigned long long>(most_values),
                 limited_by.c_str());
    return false;
  }
  Object* v = new_joined(ctx->local, 1, kValueObject, object_at(results_[0]));
  set_tag_hash(v, hash_of_made(object_at(results_[0])->tag_hash, Made::Yielded, at_.index));
  Off v_off = ctx->heap->off(v);
  uint32_t v_note = ctx->local.hold_list.add(v_off, Entry::Hold);
  if (value) {
    uint32_t mine = epoch;
    ToStore stored(value);
    Encoding e;
    if (!stored.get() || !e->item(stored.get()) || !encode_into(*e.encoder, v)) {
      if (epoch == mine) {
        drop_noted(ctx->local, v, v_note);
      }
      return false;
    }
    complete(ctx->local, v, stored.state());
  } else {
    uint32_t mine = epoch;
    if (!store_failure(&v_off, 1, name_)) {
      if (epoch == mine) drop_noted(ctx->local, v, v_note);
      return false;
    }
    complete(ctx->local, v, State::Error);
  }
  ++at_.index;
  Object* next = new_stream_link(at_, 1);
  Off next_off = ctx->heap->off(next);
  next->runner.store(ctx->mark, memory_order_relaxed);
  uint32_t next_note = ctx->local.hold_list.add(next_off, Entry::Run);
  Object* ticket = nullptr;
  if (at_.window || ctx->streams.window) {
    ticket = new_ticket();
    Owned ref(new_ref(ticket, false));
    if (!ref) return false;
    if (ctx->streams.window) ctx->streams.tickets.push_back(Owned::share(ref.get()));
    if (at_.window) tickets_.push_back(std::move(ref));
  }
  if (making_) --ctx->streams.making;
  making_ = false;

  Object* link = object_at(results_[1]);
  ValueHeader* header = link_value(link);
  header->set(0, 0, ticket ? 3 : 2, 0);
  Off* refs = value_refs(header);
  refs[0] = v_off;
  refs[1] = next_off;
  if (ticket) refs[2] = ctx->heap->off(ticket);
  // No other process knows the three yet, and no other thread touches the ticket before the GIL is given up. The value's hold becomes the link's.
  auto also_of_link = [](Object* o) { o->holds.store(o->holds.load(memory_order_relaxed) + 1, memory_order_relaxed); };
  also_of_link(next);
  if (ticket) also_of_link(ticket);
  ctx->local.hold_list.clear(v_note);
  std::atomic_ref(link->size).store(ValueHeader::size_for(0, header->refs(), 0), memory_order_release);
  complete(ctx->local, link, State::Value);
  if (block_) std::atomic_ref(block_->more_results()[0]).store(next_off, memory_order_release);
  const uint32_t link_note = std::exchange(notes_[1], next_note);
  results_[1] = next_off;
  drop_noted(ctx->local, link, link_note);
  return true;
}

bool Stream::item(PyObject* value) {
  if (at_.per_yield <= 1) return publish(value);
  if (!PyTuple_Check(value) && !PyList_Check(value)) {
    PyErr_Format(PyExc_ValueError, "Streaming generator tasks with _num_objects_per_yield=%u must yield a tuple or list of length %u.",
                 at_.per_yield, at_.per_yield);
    return false;
  }
  bool ok = PySequence_Fast_GET_SIZE(value) == Py_ssize_t(at_.per_yield);
  if (!ok)
    PyErr_Format(PyExc_ValueError, "Streaming generator task yielded %zd objects, but _num_objects_per_yield=%u.",
                 PySequence_Fast_GET_SIZE(value), at_.per_yield);
  for (Py_ssize_t i = 0; ok && i < PySequence_Fast_GET_SIZE(value); ++i) ok = publish(PySequence_Fast_GET_ITEM(value, i));
  return ok;
}

Owned Stream::gate() {
  if (tickets_.empty()) return Owned();
  // Those before the one to wait for are never needed again.
  size_t open = at_.window - 1;
  if (tickets_.size() <= open) return Owned();
  Owned ref;
  while (tickets_.size() > open) {
    ref = std::move(tickets_.front());
    tickets_.erase(tickets_.begin());
  }
  Object* ticket = ref_object(ref.get());
  return ticket && !is_done(ticket) ? std::move(ref) : Owned();
}

bool Stream::let_on(std::vector<PyRef*>& open) {
  if (!ctx->streams.window || making_) return true;
  auto& all = ctx->streams.tickets;
  for (size_t i = 0; i < all.size();) {
    auto* ref = reinterpret_cast<PyRef*>(all[i].get());
    if (is_done(ref->object)) {
      Owned done = std::move(all[i]);  // it goes when the list does not have it any more
      all.erase(all.begin() + long(i));
    } else {
      open.push_back(ref);
      ++i;
    }
  }
  if (open.size() + ctx->streams.making >= ctx->streams.window) return false;
  ++ctx->streams.making;
  return making_ = true;
}

bool Stream::wait_to_be_let_on() {
  for (;;) {
    std::vector<PyRef*> open;
    if (was_cancelled() || let_on(open)) return true;
    const Timed::Outside outside(ctx->timed.get(), ctx->strand());
    int e = 0;
    if (open.empty()) {  // others are about to give theirs
      timespec t{0, 1000000};
      Unlocked unlocked;
      nanosleep(&t, nullptr);
      if (!unlocked.lock()) return false;
    } else {
      std::vector<OwnedAs<PyRef>> held;  // the list of tickets may lose them meanwhile
      held.reserve(open.size());
      for (auto* ref : open) held.push_back(OwnedAs<PyRef>::share(ref));
      e = wait_objects(open.data(), Py_ssize_t(open.size()), 1, false, now_ns() + kGateSliceNs);
    }
    if (e == -1) return false;
  }
}

// Whether a generator's `yield` can be given a value now: it is the generator's own, or stands, behind any number of `yield from`, in one that
// takes values. A range or a list takes none.
static bool takes_value(PyObject* generator) {
  Owned at(Py_NewRef(generator));
  while (PyGen_CheckExact(at.get())) {
    Owned inner(PyObject_GetAttrString(at.get(), "gi_yieldfrom"));
    if (!inner) {
      PyErr_Clear();
      return false;
    }
    if (inner.get() == Py_None) return true;
    at = std::move(inner);
  }
  return PyObject_HasAttrString(at.get(), "send");
}

bool Stream::drain(PyObject* generator) {
  if (!PyIter_Check(generator)) {
    refuse_results(1, -1, generator);
    return false;
  }
  uint32_t mine = epoch;
  const bool sends = hooks.yielded && PyGen_CheckExact(generator);
  Owned reply;  // what the generator's last `yield` is to give
  for (;;) {
    if (was_cancelled()) {
      const PyCompletion* handed_on = running_completion();
      (handed_on ? *handed_on->children : ctx->children).stop();
      PyErr_SetNone(PyExc_KeyboardInterrupt);
      return false;
    }
    if (!wait_to_be_let_on()) return false;
    PyObject* next = nullptr;
    if (sends && reply && takes_value(generator)) {
      if (PyIter_Send(generator, reply.get(), &next) == PYGEN_RETURN) Py_CLEAR(next);
    } else {
      next = PyIter_Next(generator);
    }
    Owned value(next);
    end_if_forked_since(mine);
    if (epoch != mine) {
      value.reset();
      PyErr_SetString(PyExc_RuntimeError, "the runtime was shut down while a generator was running");
      return false;
    }
    if (!value) return !PyErr_Occurred();
    const uint64_t before = sends ? now_ns() : 0;
    if (!item(value.get())) return false;
    value.reset();
    if (sends) {
      reply = hooks.yielded(now_ns() - before);
      if (!reply) return false;
    }
    if (Owned gated = gate()) {
      auto* ticket = reinterpret_cast<PyRef*>(gated.get());
      const Timed::Outside outside(ctx->timed.get(), ctx->strand());
      int e;
      do e = wait_objects(&ticket, 1, 1, false, now_ns() + kGateSliceNs);
      while (e == ETIMEDOUT && !was_cancelled());
      if (e < 0) return false;
    } else if (PyErr_Occurred()) {
      return false;
    }
  }
}

// Ends the chain. Before the completion is completed: who sees the one done sees the other.
void Stream::close() {
  Object* link = object_at(results_[1]);
  link_value(link)->set(0, 0, 0, 0);
  std::atomic_ref(link->size).store(uint64_t(ValueHeader::kBareSize), memory_order_release);
  complete(ctx->local, link, State::Value);
}

bool Stream::ends_uncancelled() {
  close();
  Cancellation before = Cancellation::None;
  return object_at(results_[0])->cancellation.compare_exchange_strong(before, Cancellation::StreamOver) || before != Cancellation::Running;
}

void Stream::end() {
  if (!ends_uncancelled() && of_method_) object_at(results_[0])->state.store(State::Cancelled, memory_order_relaxed);
  else store_results(results_, 1, Py_None, name_);
}

bool Stream::fail() {
  const bool interrupted = !PyErr_ExceptionMatches(PyExc_Exception);
  if (!was_cancelled() && !publish(nullptr) && PyErr_ExceptionMatches(PyExc_SystemExit)) return false;
  if (ends_uncancelled()) return store_results(results_, 1, Py_None, name_);
  if (interrupted && of_method_) {
    PyErr_Clear();
    object_at(results_[0])->state.store(State::Cancelled, memory_order_relaxed);
    return true;
  }
  if (!interrupted || !PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
  return store_failure(results_, 1, name_);
}

void find_pending_link(Message* m, std::vector<Off>& settled) {
  Off& second = m->more_results()[0];
  Object* link = object_at(second);
  if (!is_done(link) || link->state.load(memory_order_acquire) != State::Value || !link_value(link)->refs()) return;
  settled.push_back(second);
  second = value_refs(link_value(link))[1];
}

void complete_if_ended(Message* m, std::unordered_set<Off>& freed) {
  Object* link = object_at(m->more_results()[0]);
  Object* completion = object_at(m->result);
  if (!is_done(link) || link->state.load(memory_order_acquire) != State::Value || is_done(completion)) return;
  settle_stored(completion, true, freed);
  Encoding nothing;
  if (!is_done(completion) && nothing->item(Py_None) && encode_into(*nothing.encoder, completion))
    complete(ctx->local, completion, State::Value);
}

}  // namespace reactor
