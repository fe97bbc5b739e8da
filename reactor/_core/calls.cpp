// The caller's side: making calls, waiting, reading results.
#include "refs.h"
#include "calls.h"
#include "few.h"
#include "recorded.h"
#include "spill.h"
#include "stream.h"
#include <sys/socket.h>
#include <optional>
#include <utility>

namespace reactor {

Context* ctx = nullptr;
uint32_t epoch = 0;
Hooks hooks;
uint32_t Inside::all = 0;
thread_local uint32_t Inside::own = 0;
PyObject* refusal = nullptr;

namespace {

// What the caller of a call gets, given back unless it is released; an error that keeps it from its caller stays.
class CallersRefs {
 public:
  void operator=(PyObject* made) { refs_.reset(made); }
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

constexpr uint64_t kInlineArgs = 8192;  // arguments up to this size travel in the channel itself

// (args, kwargs) as Python objects, for the slow path of argument checks.
bool check_arguments(const CallSpec& s, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  bool plain = !kwnames || PyTuple_GET_SIZE(kwnames) == 0;
  if (!plain && PyTuple_GET_SIZE(kwnames) > UINT16_MAX) {
    PyErr_Format(PyExc_TypeError, "a call takes %d keyword arguments at most", UINT16_MAX);
    return false;
  }
  if (!s.check || (plain && n >= s.min_args && (s.max_args < 0 || n <= s.max_args))) return true;
  Owned a(PyTuple_New(n)), kw(PyDict_New());
  if (!a || !kw) return false;
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(a.get(), i, Py_NewRef(args[i]));
  for (Py_ssize_t i = 0; !plain && i < PyTuple_GET_SIZE(kwnames); ++i) PyDict_SetItem(kw.get(), PyTuple_GET_ITEM(kwnames, i), args[n + i]);
  return bool(Owned(PyObject_CallFunctionObjArgs(s.check, a.get(), kw.get(), nullptr)));
}

// One call's place in the recording, its encoded arguments and its result objects, ready to be laid into a record.
// Until it is sent it owns all of that: a call that is given up, by a Python error or by an exception, leaves nothing behind.
struct Outgoing {
  explicit Outgoing(const CallSpec& spec)
      : spec(spec), wanted(spec.results), results(wanted == kStreamResult ? 2 : size_t(wanted < 1 ? 1 : wanted)) {}
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;
  ~Outgoing() {
    if (sent || epoch != epoch_) return;
    SavedError error;
    if (args_object) drop_hold(ctx->local, args_object);
    if (placed) {
      for (Off off : encoding->deps()) drop_hold(ctx->local, ctx->heap->at<Object>(off));
      for (Off off : encoding->refs()) drop_hold(ctx->local, ctx->heap->at<Object>(off));
    }
    if (task) ctx->local.alloc.free(task);
    for (size_t i = 0; i < made; ++i) {
      drop_hold(ctx->local, results[i]);
      if (wanted != 0 && i >= given) drop_hold(ctx->local, results[i]);  // that of the ref that was not made
    }
  }
  const uint32_t epoch_ = epoch;  // pickling an argument runs user code, which may end the run
  const CallSpec& spec;
  const int32_t wanted;   // what the caller gets, see CallSpec::results
  Recorded recorded;
  bool replayed = false;
  uint32_t deps = 0;      // arguments that are refs
  uint32_t room = 0;      // what its arguments took when it was recorded, 0: they cannot be placed
  bool placed = false;
  Encoding encoding;
  Few<Object*, 4> results;
  size_t made = 0, given = 0;  // how many of the results there are, and how many of those are in refs
  Off task = 0;           // a task's block
  bool sent = false;      // others have it
  Object* args_object = nullptr;
  uint64_t value_size = 0;
  uint32_t args = 0, kwargs = 0;
  uint64_t root = 0;      // its tag: root, then that of the running call, then `number` unless it is the driver's (order.h)
  uint64_t number = 0;
  uint32_t depth_of_tag = 0;
  std::optional<Tag> of_caller;  // where others may begin a call while this one is made: the running call's, now

  // Finds the operation in the recording.
  void look_up(OpKind kind, uint64_t target, uint32_t method, PyObject* const* a, Py_ssize_t n, PyObject* kwnames) {
    args = uint32_t(n);
    kwargs = kwnames ? uint32_t(PyTuple_GET_SIZE(kwnames)) : 0;
    ctx->proc->calls.store(++ctx->operations, memory_order_relaxed);
    if (ctx->tagged) number_it();
    if (!recorded.begin()) return;
    OpKey& key = recorded.key;
    key = {target, method << 2 | uint32_t(kind), (args + kwargs) << 8 | uint8_t(wanted), nullptr, 0, 0};
    for (uint32_t i = 0; i < args + kwargs; ++i) {
      if (!is_ref(a[i])) continue;
      ++deps;
      auto* r = reinterpret_cast<PyRef*>(a[i]);
      uint32_t back = recorded.recorder->back_to(r->segment);
      key.shape = (key.shape * 31 + i) * 31 + (back > 3 ? UINT32_MAX : back * 65537 + r->op);
    }
    if (kwargs) key.names = uint32_t(PyObject_Hash(kwnames));
    recorded.look_up();
    replayed = recorded.node;
    room = recorded.room();
  }
  // Its arguments have been encoded: adds it to the recording if it is new, and what is shown of it if that is not there yet.
  void record(PyObject* name, uint64_t actor, PyObject* const* a) {
    OpNote* note = recorded.add(name, actor, args + kwargs, uint32_t(wanted < 0 ? 1 : wanted), *encoding.encoder);
    if (!note) return;
    note->bytes = encoding->size();
    note->layout = encoding->layout(args);
    for (uint32_t i = 0; i < args + kwargs; ++i)
      if (is_ref(a[i])) {
        auto* r = reinterpret_cast<PyRef*>(a[i]);
        note->sources.push_back({i, recorded.recorder->back_to(r->segment), r->op});
      }
  }
  void number_it() {
    ++ctx->issued;
    if (ctx->level == 0 && ctx->slot == 0) {
      root = ctx->issued;
      return;
    }
    root = ctx->here.root;
    number = ctx->issued;
    depth_of_tag = extended_depth(ctx->here, number);
    // Where others may begin a call before the tag is written, it is that of the call that runs now.
    if (ctx->inline_mode || ctx->deferred_open.load(std::memory_order_relaxed)) of_caller.emplace().assign(ctx->here);
  }
  void write_tail(uint32_t* to) const {
    if (depth_of_tag) extend(of_caller ? *of_caller : ctx->here, number, to);
  }
  // Tells who keeps a record of the run.
  void tell(PyObject* name) {
    if (!ctx->keeping || !hooks.made) return;
    uint32_t tail[kMaxTag];
    write_tail(tail);
    hooks.made.tell(Owned(tag_tuple({root, tail, depth_of_tag})), name);
  }
  // Whether the call, to `callee` (0: a task), is given anything by which it may come to call others. Handles are noted.
  bool carries(uint32_t callee, OpenCall& open) {
    bool any = false;
    for (Off off : encoding->deps()) any = leads_on(ctx->heap->at<Object>(off)) || any;
    for (Off off : encoding->refs()) {
      auto* o = ctx->heap->at<Object>(off);
      if (kind_of(o) != kActorObject) {
        any = kind_of(o) != kCode || leads_on(o) || any;
        continue;
      }
      any = true;
      give_handle(o, false);
      ActorBody body;
      memcpy(&body, o->body, sizeof body);
      if (callee) ctx->order.note(NoticeKind::Holds, callee, body.actor);
      else if (open.holds < std::size(open.hold)) open.hold[open.holds++] = body.actor;
      else open.holds = kAnybody;
    }
    return any;
  }
  // Something lies in the value, or may: it is not there yet.
  static bool leads_on(Object* o) {
    if (!is_done(o)) return true;
    if (o->state.load(memory_order_acquire) != State::Value) return false;
    auto* v = reinterpret_cast<ValueHeader*>(value_of(ctx->heap, o));
    for (uint32_t i = 0; i < v->deps + v->refs; ++i) {
      auto* r = ctx->heap->at<Object>(value_refs(v)[i]);
      if ((kind_of(r) != kCode && kind_of(r) != kArguments) || leads_on(r)) return true;
    }
    return false;
  }
  void put_on_board(uint32_t callee, uint64_t target, OpenCall& open) {
    open.target = target;
    open.root = root;
    open.actor = callee;
    open.depth = uint16_t(depth_of_tag);
    write_tail(open.tail);
    if (const char* text = spec.name ? PyUnicode_AsUTF8(spec.name) : nullptr) memcpy(open.name, text, strnlen(text, sizeof open.name));
    ctx->order.open(results[0], open);
    on_board = true;
  }
  bool on_board = false;
  bool stamped = false;

  bool append(PyObject* const* a, PyObject* kwnames) {
    for (uint32_t i = 0; i < args; ++i)
      if (!encoding->argument(a[i])) return false;
    for (uint32_t i = 0; i < kwargs; ++i)
      if (!encoding->name(PyTuple_GET_ITEM(kwnames, i)) || !encoding->argument(a[args + i])) return false;
    return true;
  }
  // Lays the arguments straight into their record, which has `room` for them.
  bool place(Message* m, PyObject* const* a, PyObject* kwnames) {
    encoding->place(reinterpret_cast<uint8_t*>(m) + head_size(), room, deps);
    append(a, kwnames);
    value_size = encoding->placed();
    if (!value_size) return false;
    ctx->proc->count_bytes(value_size, 0);
    return placed = true;
  }
  bool encode(PyObject* const* a, PyObject* kwnames) {
    if (!append(a, kwnames)) return false;
    value_size = encoding->size();
    ctx->proc->count_bytes(value_size, encoding->pickled_bytes());
    if (replayed) recorded.set_room(*encoding.encoder);
    if (value_size > kInlineArgs) {
      if (!given_before()) return false;
      if (args_object) return true;
      Fresh fresh(new_object(ctx->local, 1, kArguments));
      if (!encode_into(*encoding.encoder, fresh.object, false)) return false;
      args_object = fresh.keep();
      complete(ctx->local, args_object, State::Value);
      if (may_be_shared()) {
        if (ctx->arguments_repeat) args_object->unwanted.store(kInCommon, memory_order_relaxed);
        forget_arguments();  // another thread's, while encode_into had given up the GIL
        take_hold(args_object);
        ctx->last_arguments_note = ctx->local.journal.add(ctx->heap->off(args_object), Entry::Hold);
        ctx->last_arguments = args_object;
      }
      value_size = 0;
    }
    return true;
  }
  // What is pickled is not: its buffers may be writable.
  bool may_be_shared() {
    return value_size >= kOwnPages && encoding->pickled_bytes() == 0 && encoding->deps().empty() && encoding->refs().empty();
  }
  // Takes the last call's arguments if these are the same, byte for byte; else they are forgotten. False: a Python error is set.
  bool given_before() {
    Object* last = ctx->last_arguments;
    uint16_t use = kFresh;
    if (last && last->size == value_size && may_be_shared() && (last->unwanted.compare_exchange_strong(use, kInCommon) || use == kInCommon)) {
      Reading reading(last);
      auto* v = reinterpret_cast<ValueHeader*>(reading.value());
      if (!v) PyErr_Clear();  // on the disk, and cannot be read
      bool same = false;
      if (v && value_size < (1 << 20)) {
        same = encoding->is(v);
      } else if (v) {
        Unlocked unlocked;
        same = encoding->is(v);
        if (!unlocked.lock()) return false;
      }
      ctx->arguments_repeat = same;
      if (same) {
        take_hold(last);
        args_object = last;
        value_size = 0;
        return true;
      }
    }
    forget_arguments();
    return true;
  }
  void make_results(uint16_t kind, uint32_t actor = 0) {
    if (wanted == 0) kind |= kSeen;  // as in Ray, nobody wants to know
    for (; made < results.size(); ++made) {
      results[made] = made && wanted == kStreamResult ? new_stream_link({0, spec.window, spec.per_yield}, 2) : new_object(ctx->local, wanted == 0 ? 1 : 2, kind);
      memcpy(results[made]->body, &actor, sizeof actor);
    }
  }
  uint64_t head_size() const { return sizeof(Message) + 8 * (results.size() - 1); }
  uint64_t tail_size() const { return align_up(4 * depth_of_tag, 8) + (stamped ? 8 : 0); }
  uint64_t record_size() const { return align_up(head_size() + value_size, 8) + tail_size(); }
  uint64_t room_size() const { return align_up(head_size() + room, 8) + tail_size(); }
  void fill(Message* m, MessageKind kind) {
    m->size = uint32_t(record_size());
    m->kind = kind;
    m->flags = (replayed ? kReplayed : 0) | (on_board ? kOnBoard : 0) | (stamped ? kStamped : 0) | (wanted == kStreamResult ? kStreaming : wanted == kDynamicResult ? kDynamic : 0);
    m->method = 0;
    m->stamp = ctx->tagged ? root : stamp();
    m->actor = 0;
    m->results = uint32_t(results.size());
    m->result = ctx->heap->off(results[0]);
    m->args = args;
    m->kwargs = uint16_t(kwargs);
    m->depth = uint16_t(depth_of_tag);
    if (depth_of_tag) write_tail(m->tail());
    if (stamped) *m->time() = stamp();
    m->args_object = args_object ? ctx->heap->off(args_object) : 0;
    m->function = 0;
    m->caller = ctx->host ? ctx->running_actor : ctx->caller;
    m->retries = 0;
    for (size_t i = 1; i < results.size(); ++i) m->more_results()[i - 1] = ctx->heap->off(results[i]);
    if (value_size && !placed) {
      encoding->write(m->value());
      encoding->take_holds();
    }
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
    if (i == 0 && ctx->keeping && hooks.result) {
      uint32_t tail[kMaxTag];
      write_tail(tail);
      hooks.result.tell(results[0]->uid, Owned(tag_tuple({root, tail, depth_of_tag})));
    }
    recorded.mark(r);
    return r;
  }
  // Whether the run has ended meanwhile; a Python error is then set.
  bool ended() const {
    if (epoch == epoch_) return false;
    set_ended_error();
    return true;
  }
};

void die_at_once(Outgoing& out, Inbox* inbox) {
  out.sent = true;
  Off reason = inbox->reason.load(memory_order_acquire);
  if (out.args_object) drop_hold(ctx->local, out.args_object);
  for (Object* o : out.results) {
    complete_died(ctx->local, o, reason);
    drop_hold(ctx->local, o);
  }
}

// Puts a call of an actor on the board if it has to be: it carries something, its actor has been given something, or anybody may look
// up an actor by its name. (One that nobody waits for is put there in any case: later, its result may be gone.)
void open_call(Outgoing& out, Inbox* inbox, uint32_t actor) {
  OpenCall open;
  bool carries = out.carries(actor, open);
  uint32_t order = inbox->order.load(memory_order_relaxed);
  if (order & kPhysical) return;
  if (carries || order & kOpenActor || out.wanted == 0 || ctx->header->names.load(memory_order_relaxed)) out.put_on_board(actor, actor, open);
}

bool open_channel(PyLink* link) {
  Off inbox = ctx->heap->off(link->inbox);
  auto it = ctx->outlets.find(inbox);
  if (it == ctx->outlets.end()) {
    Off off = new_channel(ctx->heap, ctx->local.alloc, ctx->slot);
    if (!off) {
      PyErr_SetString(PyExc_MemoryError, "reactor: no room for a channel in the shared heap");
      return false;
    }
    auto* c = ctx->heap->at<Channel>(off);
    uint32_t note = ctx->local.journal.add(off, Entry::Channel);
    it = ctx->outlets.emplace(inbox, Outlet{Sender(ctx->heap, &ctx->local.alloc, c), note}).first;
    Off head = link->inbox->channels.load(memory_order_relaxed);
    do c->next = head;
    while (!link->inbox->channels.compare_exchange_weak(head, off, memory_order_release, memory_order_relaxed));
  }
  link->outlet = &it->second;
  ++link->outlet->links;
  return true;
}

// Whether the actor shall sleep on until an argument of the message (a ref that the caller still holds) is there: who completes
// that one rings. Its own look at the message would find that it must wait, and put it to sleep again.
bool rung_later(const std::vector<Off>& arguments, Bell* bell) {
  for (Off off : arguments) {
    auto* o = ctx->heap->at<Object>(off);
    try {
      if (!is_done(o) && watch(ctx->local, o, NodeKind::Bell, ctx->heap->off(bell), Life::Orphan)) return true;
    } catch (std::bad_alloc&) {
      return false;  // the actor looks by itself
    }
  }
  return false;
}

// An argument could not be encoded: the layer above may say it in its own words.
PyObject* refuse_argument(const CallSpec& spec) {
  if (!hooks.unpicklable || !spec.name || !PyErr_ExceptionMatches(PyExc_TypeError)) return nullptr;
  Owned error = take_error();
  Owned better = hooks.unpicklable(error.get(), spec.check, spec.name);
  error.reset();
  if (better) set_error(better.get());
  return nullptr;
}

// In inline placement the call happens here.
void run_here(Outgoing& out, MessageKind kind, uint32_t actor, uint32_t index, Off function, uint32_t retries) {
  std::vector<uint64_t> record(out.record_size() / 8);
  auto* m = reinterpret_cast<Message*>(record.data());
  out.fill(m, kind);
  m->actor = actor;
  m->method = uint16_t(index);
  m->function = function;
  m->retries = retries;
  out.sent = true;
  Encoding::Hidden hidden;
  run_message(m, nullptr);
  release_message(ctx->local, m);
}

}  // namespace

PyObject* stale_error(const char* what) {
  if (ctx && hooks.stale) {
    Owned error = hooks.stale(what);
    if (error) set_error(error.get());
    return nullptr;
  }
  if (!ctx)
    PyErr_Format(PyExc_RuntimeError, "this %s cannot be used: the runtime it belongs to has been shut down and none is running", what);
  else
    PyErr_Format(PyExc_ValueError, "this %s belongs to an earlier init() that has been shut down; its value is gone. Make it again after the new init()", what);
  return nullptr;
}

void set_aborted_error() {
  PyErr_SetString(PyExc_RuntimeError,
                  "the runtime's processes are gone: the zygote was killed, or failed (then stderr says how), and its workers with it. Call shutdown() and init() to go on");
}

PyObject* tag_tuple(TagView tag) {
  PyObject* t = PyTuple_New(1 + tag.depth);
  if (t) PyTuple_SET_ITEM(t, 0, PyLong_FromUnsignedLongLong(tag.root));
  for (uint32_t i = 0; t && i < tag.depth; ++i) PyTuple_SET_ITEM(t, i + 1, PyLong_FromUnsignedLong(tag.tail[i]));
  return t;
}

void hold_back(bool more) {
  if (more ? ctx->holding++ == 0 : --ctx->holding == 0) set_held(ctx->local, more);
}

void give_handle(Object* actor, bool wide) {
  ActorBody body;
  memcpy(&body, actor->body, sizeof body);
  auto& order = ctx->heap->at<Inbox>(body.inbox)->order;
  if (!(order.load(memory_order_relaxed) & kSeveral)) order.fetch_or(kSeveral, memory_order_seq_cst);
  if (wide) ctx->order.note(NoticeKind::Wide, body.actor);
  if (!ctx->serves) return;
  ctx->order.note(NoticeKind::Holds, ctx->serves, body.actor);
  was_given();
}

void forget_arguments() {
  Object* last = std::exchange(ctx->last_arguments, nullptr);
  if (!last) return;
  ctx->local.journal.clear(ctx->last_arguments_note);
  drop_hold(ctx->local, last);
}

int send_to_supervisor(int fd, const void* data, size_t size) {
  int error = send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? errno : 0;
  // The supervisor alone makes room there: it takes in what has come, and answers it later.
  while (error == EAGAIN && ctx && ctx->proc == &ctx->heap->procs[1] && hooks.crowded) {
    hooks.crowded.tell();
    error = send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? errno : 0;
  }
  if (error == EAGAIN) {
    Py_BEGIN_ALLOW_THREADS  // the supervisor is busy and its socket full
    do error = send(fd, data, size, MSG_NOSIGNAL) < 0 ? errno : 0;
    while (error == EINTR);
    Py_END_ALLOW_THREADS
  }
  return error;
}

void send_control(Control op, Off off) {
  if (!ctx || ctx->heap->control < 0) return;
  uint8_t data[9];
  data[0] = uint8_t(op);
  memcpy(data + 1, &off, sizeof off);
  send_to_supervisor(ctx->heap->control, data, sizeof data);
}

// Asks who follows a record of the run, who may say what the call's tag is to be.
static bool may_make() {
  if (!ctx->keeping || !hooks.makes) return true;
  Owned tag = hooks.makes();
  if (tag && tag.get() != Py_None) {
    ctx->here.depth = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tag.get()); ++i) {
      const uint64_t n = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(tag.get(), i));
      if (i == 0) ctx->here.root = n;
      else if (i + 1 < PyTuple_GET_SIZE(tag.get())) ctx->here.push(uint32_t(n));
      else ctx->issued = n - 1;
    }
  }
  return tag && !PyErr_Occurred();
}

PyObject* call_method(PyLink* link, const CallSpec& spec, MessageKind kind, uint32_t index, PyObject* const* args, Py_ssize_t nargs,
                      PyObject* kwnames, uint32_t retries, PyRef* options) {
  if (!ctx || link->epoch != epoch) return stale_error("actor handle");
  Inside inside;
  if (ctx->aborted) return set_aborted_error(), nullptr;
  if (!check_arguments(spec, args, nargs, kwnames)) return nullptr;
  delay();
  if (!may_make()) return nullptr;
  Outgoing out(spec);
  const uint16_t result = kind == MessageKind::Create ? kMethodResult | kSeen : kMethodResult;  // a constructor's failure is told where it ran
  out.look_up(kind == MessageKind::Create ? OpKind::Create : OpKind::Call, link->uid, index, args, nargs, kwnames);
  out.tell(spec.name);
  Inbox* inbox = link->inbox;
  out.stamped = ctx->logical && inbox->order.load(memory_order_relaxed) & kSeveral;
  CallersRefs refs;
  Message* m = nullptr;
  if (out.room && link->outlet && inbox->state.load(memory_order_acquire) != InboxState::Dead) {
    // No user code runs between here and commit(): the refs are made before, for making them may collect garbage.
    out.make_results(result, link->actor);
    refs = out.refs();
    if (!refs) return nullptr;
    m = link->outlet->sender.reserve(out.room_size());
    if (m && !out.place(m, args, kwnames)) m = nullptr;
  }
  if (!m) {
    if (!out.encode(args, kwnames)) return refuse_argument(spec);
    if (out.ended()) return nullptr;
    out.record(spec.name, link->actor, args);
    if (!out.made) out.make_results(result, link->actor);
    if (!refs) refs = out.refs();
    if (!refs) return nullptr;
    if (inbox->state.load(memory_order_acquire) == InboxState::Dead) {
      die_at_once(out, inbox);
      return refs.release();
    }
    if (ctx->inline_mode) {
      if (kind == MessageKind::Create) ctx->inboxes[link->actor] = ctx->heap->off(inbox);
      if (options) take_hold(options->object);
      run_here(out, kind, link->actor, index, options ? ctx->heap->off(options->object) : 0, retries);
      return refs.release();
    }
    if (!link->outlet && !open_channel(link)) return nullptr;
    m = link->outlet->sender.reserve(out.record_size());
    if (!m) throw NoRoom();
  }
  if (ctx->logical) open_call(out, inbox, link->actor);
  out.fill(m, kind);
  m->actor = link->actor;
  m->method = uint16_t(index);
  m->retries = retries;
  if (options) {
    take_hold(options->object);
    m->function = ctx->heap->off(options->object);
  }
  link->outlet->sender.commit(out.record_size());
  out.sent = true;
  std::atomic_thread_fence(memory_order_seq_cst);
  if (ctx->logical && !out.on_board && (inbox->order.load(memory_order_relaxed) & (kOpenActor | kPhysical)) == kOpenActor) {
    OpenCall open;
    out.put_on_board(link->actor, link->actor, open);  // it has become open meanwhile; the refs keep the result
  }
  uint32_t p = inbox->proc.load(memory_order_relaxed);
  if (p != kNoProc && !rung_later(out.encoding->deps(), &ctx->heap->procs[p].bell) && ring(ctx->heap, &ctx->heap->procs[p].bell))
    ctx->proc->wakes.fetch_add(1, memory_order_relaxed);
  if (inbox->state.load(memory_order_relaxed) == InboxState::Dead) send_control(Control::Drain, ctx->heap->off(link->object));
  return refs.release();
}

void close_link(PyLink* l) {
  Outlet* outlet = l->outlet;
  l->outlet = nullptr;
  if (!outlet || --outlet->links > 0) return;
  // In this order: killed in between, the channel stays; the other way round the supervisor would close a channel that the
  // receiver may have freed already.
  ctx->local.journal.clear(outlet->note);
  outlet->sender.close();
  ctx->outlets.erase(ctx->heap->off(l->inbox));
  uint32_t p = l->inbox->proc.load(memory_order_relaxed);
  if (p != kNoProc) ring(ctx->heap, &ctx->heap->procs[p].bell);
}

// ---- tasks

namespace {

TaskQueue* queue_for(uint32_t demand) {
  auto& q = ctx->queues[demand];
  if (q) return q;
  Heap* h = ctx->heap;
  for (Off off = ctx->header->queues.load(memory_order_acquire); off;) {  // adopt one whose process is gone
    auto* old = h->at<TaskQueue>(off);
    uint32_t nobody = kNoProc;
    if (old->demand == demand && std::atomic_ref(old->producer).compare_exchange_strong(nobody, ctx->slot)) return q = old;
    off = old->next.load(memory_order_acquire);
  }
  return q = new_queue(ctx->local, demand);
}

// One node for each argument of a task that is not there yet, made before anybody can see the task: what is seen must not fail half-way.
class Nodes {
 public:
  Nodes(Off task, const std::vector<Off>& arguments) {
    for (Off off : arguments) {
      auto* o = ctx->heap->at<Object>(off);
      if (is_done(o)) continue;
      missing_.emplace_back(o, nullptr);
      missing_.back().second = new_node(ctx->local, NodeKind::Task, task);
      missing_.back().second->life.store(Life::Orphan, memory_order_relaxed);
    }
  }
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;
  ~Nodes() {
    for (auto [o, node] : missing_)
      if (node) ctx->local.alloc.free(ctx->heap->off(node));
  }
  void link_to(Message* m) {
    for (auto& [o, node] : missing_) {
      std::atomic_ref(m->actor).fetch_add(1, memory_order_relaxed);  // before who completes it can count it down
      if (link(ctx->local, o, node)) node = nullptr;
      else std::atomic_ref(m->actor).fetch_sub(1, memory_order_relaxed);
    }
  }

 private:
  std::vector<std::pair<Object*, WaitNode*>> missing_;
};

}  // namespace

// Called by whoever completed the last missing argument (or by the submitter when none is missing).
void task_ready(Local& l, Off task) {
  auto* m = l.heap->at<Message>(task);
  if (std::atomic_ref(m->actor).fetch_sub(1, memory_order_acq_rel) != 1) return;
  enqueue(l, queue_for(m->demand), task);
  kick_pool(m->demand);
}

// A task was queued or resources came free: wakes an idle task worker, or asks for one more where it could run.
void kick_pool(uint32_t demand) {
  Header* hdr = ctx->header;
  const uint32_t setting = hdr->demand[demand].setting;
  bool awake = false;  // an idle one of the right kind has not gone to sleep yet: it will look once more
  std::atomic_thread_fence(memory_order_seq_cst);
  if (hdr->demand[demand].retired.load(memory_order_relaxed)) return send_control(Control::Refuse, demand);
  if (hdr->pool_idle.load(memory_order_relaxed) > 0) {
    uint32_t high = hdr->pool_high.load(memory_order_acquire);
    for (uint32_t i = 0; i < high; ++i) {
      uint32_t p = hdr->pool[i].load(memory_order_relaxed);
      // One that sleeps but is not idle waits for a result inside a task: it would not look at the queues.
      if (!p || ctx->heap->procs[p - 1].setting != setting || !ctx->heap->procs[p - 1].idle.load(memory_order_relaxed)) continue;
      awake = true;
      if (ring(ctx->heap, &ctx->heap->procs[p - 1].bell)) {
        ctx->proc->wakes.fetch_add(1, memory_order_relaxed);
        return;
      }
    }
    if (awake || (!hdr->settings.load(memory_order_relaxed) && hdr->pool_idle.load(memory_order_relaxed) > 0)) return;
  }
  uint32_t none = 0;
  if (can_take(hdr, demand) && hdr->spawn_asked.compare_exchange_strong(none, 1)) send_control(Control::Spawn, setting);
}

PyObject* call_function(PyFunction* f, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  if (!ctx || f->function->epoch != epoch) return stale_error("remote function");
  Inside inside;
  if (ctx->aborted) return set_aborted_error(), nullptr;
  if (!check_arguments(f->spec, args, nargs, kwnames)) return nullptr;
  delay();
  if (!may_make()) return nullptr;
  Outgoing out(f->spec);
  out.look_up(OpKind::Task, f->function->uid, 0, args, nargs, kwnames);
  out.tell(f->spec.name);
  CallersRefs refs;
  if (out.room && !ctx->inline_mode) {
    out.make_results(kValueObject);
    refs = out.refs();
    if (!refs) return nullptr;
    out.task = ctx->local.alloc.alloc(out.room_size());
    if (out.task && !out.place(ctx->heap->at<Message>(out.task), args, kwnames)) ctx->local.alloc.free(std::exchange(out.task, 0));
  }
  if (!out.task) {
    if (!out.encode(args, kwnames)) return refuse_argument(f->spec);
    if (out.ended()) return nullptr;
    out.record(f->spec.name, 0, args);
    if (!out.made) out.make_results(kValueObject);
    if (!refs) refs = out.refs();
    if (!refs) return nullptr;
  }
  if (ctx->running_uid && ctx->serving) ctx->children.emplace_back(ctx->heap->off(out.results[0]), out.results[0]->uid);
  if (ctx->inline_mode) {
    take_hold(f->function->object);
    uint32_t outer = ctx->proc->demand.exchange(f->demand + 1);
    run_here(out, MessageKind::Task, 0, 0, ctx->heap->off(f->function->object), f->retries);
    ctx->proc->demand.store(outer);
    return refs.release();
  }
  if (!out.task) out.task = ctx->local.alloc.alloc(out.record_size());
  if (!out.task) throw NoRoom();
  queue_for(f->demand);
  Nodes nodes(out.task, out.encoding->deps());
  if (ctx->logical) {
    OpenCall open;
    if (f->carries < 0) f->carries = Outgoing::leads_on(f->function->object);
    if (out.carries(0, open) || f->carries || ctx->header->names.load(memory_order_relaxed)) out.put_on_board(0, f->function->uid, open);
  }
  const Off task = out.task;
  auto* m = ctx->heap->at<Message>(task);
  out.fill(m, MessageKind::Task);
  ctx->local.alloc.publish(task, kPlain);
  out.sent = true;
  take_hold(f->function->object);
  m->function = ctx->heap->off(f->function->object);
  m->demand = f->demand;
  m->retries = f->retries;
  m->method = uint16_t(ctx->depth + (ctx->depth < UINT16_MAX));
  m->actor = 1;  // arguments that are missing, and this submission
  nodes.link_to(m);
  task_ready(ctx->local, task);
  return refs.release();
}

}  // namespace reactor
