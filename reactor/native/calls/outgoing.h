// One call on its way out: what is needed to lay it into a record, and to give it up.
#pragma once
#include <optional>
#include "calls/calls.h"
#include "calls/submitter.h"
#include "memory/inline_array.h"
#include "record/recorded.h"
#include "calls/stream.h"

namespace reactor {

// The refs that the caller of a call gets. They are dropped unless they are released; a Python error that is set stays.
class CallersRefs {
 public:
  void operator=(PyObject* refs) { refs_.reset(refs); }
  explicit operator bool() const { return bool(refs_); }
  PyObject* release() { return refs_.release(); }
  ~CallersRefs() {
    if (!refs_) return;
    SavedError error;
    refs_.reset();
  }

 private:
  Owned refs_;
};

// One call's place in the recording, its encoded arguments and its result objects, ready to be laid into a record.
// Until it is sent it owns all of that: a call that is given up, by a Python error or by an exception, leaves nothing behind.
struct Outgoing {
  explicit Outgoing(const CallSpec& spec)
      : spec(spec), wanted(spec.results), results(wanted == kStreamResult ? 2 : size_t(wanted < 1 ? 1 : wanted)) {}
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;
  ~Outgoing() {
    if (!sent && epoch == epoch_) give_up();
  }
  const uint32_t epoch_ = epoch;  // pickling an argument runs user code, which may end the run
  const CallSpec& spec;
  const int32_t wanted;   // what the caller gets, see CallSpec::results
  Recorded recorded;
  bool known = false;     // it follows a known pattern
  uint32_t deps = 0;      // arguments that are refs
  uint32_t room = 0;      // what its arguments took when it was recorded, 0: they cannot be encoded in place
  bool in_place = false;
  Encoding encoding;
  InlineArray<Object*, 4> results;
  size_t created = 0, given = 0;  // how many of the results there are, and how many of those are in refs
  Off task = 0;           // a task's block
  bool sent = false;      // others have it
  Object* args_object = nullptr;
  uint32_t args_note = kNoEntry;  // of the hold that the message will have
  uint64_t value_size = 0;
  uint32_t args = 0, kwargs = 0;
  uint64_t root = 0;      // its tag: root, then that of the running call, then `number` unless it is the driver's (order.h)
  uint64_t number = 0;
  uint32_t depth_of_tag = 0;
  uint64_t tag_hash = 0;  // of that tag; 0: none
  std::optional<Tag> of_caller;  // where others may begin a call while this one is made: the running call's, now

  // Finds the operation in the recording.
  void look_up(OpKind kind, uint64_t target, uint32_t method, PyObject* const* a, Py_ssize_t n, PyObject* kwnames) {
    args = uint32_t(n);
    kwargs = kwnames ? uint32_t(PyTuple_GET_SIZE(kwnames)) : 0;
    ctx->proc->calls.store(++ctx->operations, memory_order_relaxed);
    if (ctx->tagged) number_it();
    if (!recorded.begin()) return;
    OpKey& key = recorded.key;
    key = {target, OpKey::method_and_kind(method, kind), (args + kwargs) << 8 | uint8_t(wanted), nullptr, 0, 0};
    for (uint32_t i = 0; i < args + kwargs; ++i) {
      if (!is_ref(a[i])) continue;
      ++deps;
      auto* r = reinterpret_cast<PyRef*>(a[i]);
      uint32_t back = recorded.recorder->back_to(r->pattern);
      key.shape = (key.shape * 31 + i) * 31 + (back > 3 ? UINT32_MAX : (back * 65537 + r->op) * 31 + r->output);
    }
    if (kwargs) key.names = uint32_t(PyObject_Hash(kwnames));
    recorded.look_up();
    known = recorded.node;
    room = recorded.room();
  }
  // Its arguments have been encoded: adds it to the recording if it is new, and what is shown of it if that is not there yet.
  void record(PyObject* name, uint64_t actor, PyObject* const* a);
  void number_it() {
    ++ctx->issued;
    if (ctx->level == 0 && ctx->is_driver) {
      root = ctx->roots + ctx->issued;
      if (const unsigned long thread = PyThread_get_thread_ident(); thread != ctx->issuer) note_thread(thread);
      tag_hash = hash_of({root, nullptr, 0});
      return;
    }
    root = ctx->here.root;
    number = ctx->issued;
    depth_of_tag = extended_depth(ctx->here, number);
    if (root) tag_hash = hash_of_next(ctx->here, ctx->hash_here(), number);
    // Where others may begin a call before the tag is written, it is that of the call that runs now.
    if (ctx->placement->at_once || ctx->deferred_open.load(std::memory_order_relaxed)) of_caller.emplace().assign(ctx->here);
  }
  static void note_thread(unsigned long thread);
  void write_tail(uint32_t* to) const {
    if (depth_of_tag) extend(of_caller ? *of_caller : ctx->here, number, to);
  }
  // Tells who keeps a record of the run.
  void tell(PyObject* name) {
    if (ctx->journaling && hooks.call_sent) tell_call_sent(name);
  }
  // Whether the call, to `callee` (0: a task), is given anything by which it may come to call others. Handles are noted.
  bool carries(uint32_t callee, OpenCall& open);
  // Something lies in the value, or may: it is not there yet.
  static bool leads_on(Object* o);
  void put_on_board(uint32_t callee, uint64_t target, OpenCall& open);
  bool on_board = false;
  bool timestamped = false;

  bool append(PyObject* const* a, PyObject* kwnames) {
    for (uint32_t i = 0; i < args; ++i)
      if (!encoding->argument(a[i])) return false;
    for (uint32_t i = 0; i < kwargs; ++i)
      if (!encoding->name(PyTuple_GET_ITEM(kwnames, i)) || !encoding->argument(a[args + i])) return false;
    return true;
  }
  bool has_arguments() const { return args || kwargs; }
  // Encodes the arguments directly into their record, which has `room` for them.
  bool encode_in_place(Message* m, PyObject* const* a, PyObject* kwnames) {
    if (!has_arguments()) return in_place = true;
    encoding->begin_in_place(reinterpret_cast<uint8_t*>(m) + head_size(), room, deps);
    append(a, kwnames);
    value_size = encoding->end_in_place();
    if (!value_size) return false;
    ctx->proc->count_bytes(value_size, 0);
    return in_place = true;
  }
  bool encode(PyObject* const* a, PyObject* kwnames);
  // What is pickled is not: its buffers may be writable.
  bool may_be_shared() {
    return value_size >= kOwnPages && encoding->pickled_bytes() == 0 && encoding->deps().empty() && encoding->refs().empty();
  }
  // Takes the last call's arguments if these are the same, byte for byte; else they are forgotten. False: a Python error is set.
  bool given_before();
  // Notes the call with the one that makes it.
  // In timed order: its time. To be called when others may see it next (a task) or see it already, but may not run it before (an actor's call).
  void tell_time(PyObject* name, Inbox* inbox, MessageKind kind);
  void note_started(Off inbox = 0) {
    if (!ctx->serving) return;
    PyCompletion* handed_on = running_completion();
    if (handed_on) handed_on->children->add(ctx->heap, results[0], inbox);
    else if (ctx->call->uid) ctx->children.add(ctx->heap, results[0], inbox);
  }
  void make_results(uint16_t kind, uint32_t actor = 0) {
    if (wanted > 1) return make_joined(kind, actor);
    if (wanted == 0) kind |= kSeen;  // nobody wants to know
    results[0] = new_object(ctx->local, wanted == 0 ? 1 : 2, kind);
    memcpy(results[0]->body, &actor, sizeof actor);
    if (tag_hash) set_tag_hash(results[0], hash_of_made(tag_hash, Made::Result, 0));
    created = 1;
    if (wanted != kStreamResult) return;
    results[1] = new_stream_link({0, spec.window, spec.per_yield}, 2);
    memcpy(results[1]->body, &actor, sizeof actor);
    created = 2;
  }
  void make_joined(uint16_t kind, uint32_t actor);
  uint64_t head_size() const { return sizeof(Message) + 8 * (results.size() - 1); }
  uint64_t tail_size() const { return align_up(uint64_t(4) * depth_of_tag, 8) + (timestamped ? 8 : 0); }
  uint64_t record_size() const { return align_up(head_size() + value_size, 8) + tail_size(); }
  uint64_t room_size() const { return align_up(head_size() + (has_arguments() ? room : 0), 8) + tail_size(); }
  void fill(Message* m, MessageKind kind) {
    m->size = uint32_t(record_size());
    m->kind = kind;
    m->flags = (on_board ? kOnBoard : 0) | (timestamped ? kTimestamped : 0) |
               (wanted == kStreamResult    ? kStreaming
                : wanted == kDynamicResult ? kDynamic
                                           : 0);
    m->method = 0;
    m->order_key = ctx->tagged ? root : timestamp();
    m->actor = 0;
    m->results = uint32_t(results.size());
    m->result = ctx->heap->off(results[0]);
    m->args = args;
    m->kwargs = uint16_t(kwargs);
    m->depth = uint16_t(depth_of_tag);
    if (depth_of_tag) write_tail(m->tail());
    if (timestamped) *m->time() = kind == MessageKind::Task ? submitter_here() : timestamp();
    m->args_object = args_object ? ctx->heap->off(args_object) : 0;
    m->function = 0;
    m->caller = ctx->caller;
    m->retries = 0;
    for (size_t i = 1; i < results.size(); ++i) m->more_results()[i - 1] = ctx->heap->off(results[i]);
    if (value_size && !in_place) {
      encoding->write(m->value());
      encoding->take_holds();
    }
    ctx->local.hold_list.clear(std::exchange(args_note, kNoEntry));
  }
  // What the caller gets: one ref, a list, a stream, or None.
  PyObject* refs() {
    if (wanted == 1 || wanted == kDynamicResult) return ref(0);
    if (wanted == kStreamResult) {
      Owned completion(ref(0)), link(completion ? new_ref(results[1], false) : nullptr);
      if (!link) return nullptr;
      given = 2;
      if (!hooks.generator) return PyTuple_Pack(2, completion.get(), link.get());
      return hooks.generator(std::move(completion), std::move(link)).release();
    }
    if (wanted < 1) Py_RETURN_NONE;
    Owned list(PyList_New(wanted));
    for (int32_t i = 0; list && i < wanted; ++i) {
      PyObject* r = ref(size_t(i));
      if (!r) list.reset();
      else PyList_SET_ITEM(list.get(), i, r);
    }
    return list.release();
  }
  PyObject* ref(size_t i) {
    PyObject* r = new_ref(results[i], false);
    if (!r) return nullptr;
    given = i + 1;
    if (i == 0 && ctx->journaling && hooks.result) {
      uint32_t tail[kMaxTag];
      write_tail(tail);
      hooks.result.tell(results[0]->uid, Owned(tag_tuple({root, tail, depth_of_tag})));
    }
    recorded.mark(r, i);
    return r;
  }
  // Whether the run has ended meanwhile; a Python error is then set.
  bool ended() const {
    if (epoch == epoch_) return false;
    set_ended_error();
    return true;
  }

 private:
  void tell_call_sent(PyObject* name);
  void give_up();
};

bool check_with_python(const CallSpec& s, PyObject* const* args, Py_ssize_t n, PyObject* kwnames);
// False: a Python error is set.
inline bool check_arguments(const CallSpec& s, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  const bool plain = !kwnames || PyTuple_GET_SIZE(kwnames) == 0;
  if (plain && (!s.check || (n >= s.min_args && (s.max_args < 0 || n <= s.max_args)))) return true;
  return check_with_python(s, args, n, kwnames);
}
bool take_given_tag();
// In a replay, asks for the tag of the next call. False: a Python error is set.
inline bool may_send_call() { return !ctx->journaling || !hooks.call_tag || take_given_tag(); }
// An argument could not be encoded: the layer above may say it in its own words. Null.
PyObject* refuse_argument(const CallSpec& spec);
// In inline placement the call happens here.

}  // namespace reactor
