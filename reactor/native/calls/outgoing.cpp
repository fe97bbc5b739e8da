#include "calls/outgoing.h"
#include "record/site.h"
#include "store/spill.h"

namespace reactor {
namespace {

constexpr uint64_t kInlineArgs = 8192;  // arguments up to this size travel in the channel itself

}  // namespace

void Outgoing::give_up() {
  SavedError error;
  if (args_object) drop_noted(ctx->local, args_object, args_note);
  if (in_place) {
    for (Off off : encoding->deps()) drop_hold(ctx->local, ctx->heap->at<Object>(off));
    for (Off off : encoding->refs()) drop_hold(ctx->local, ctx->heap->at<Object>(off));
  }
  if (task) ctx->local.alloc.free(task);
  for (size_t i = 0; i < created; ++i) {
    drop_hold(ctx->local, results[i]);
    if (wanted != 0 && i >= given) drop_hold(ctx->local, results[i]);  // that of the ref that was not made
  }
}

void Outgoing::note_thread(unsigned long thread) {
  if (std::exchange(ctx->issuer, thread) == 0 || ++ctx->issuer_changes > 1) return;
  PyCodeObject* code;
  int at;
  reactor_call_site(&code, &at);
  if (!code) return;
  const Owned place(PyUnicode_FromFormat("%U:%d", code->co_filename, reactor_site_line(code, at)));
  const char* text = place ? PyUnicode_AsUTF8(place.get()) : nullptr;
  if (text) ctx->issuer_place = text;
  else PyErr_Clear();
}

void Outgoing::make_joined(uint16_t kind, uint32_t actor) {
  JoinedResult* last = nullptr;
  for (; created < results.size(); ++created) {
    JoinedResult* o = new_joined(ctx->local, 2, kind, created ? results[0] : nullptr);
    memcpy(o->body, &actor, sizeof actor);
    if (tag_hash) set_tag_hash(o, hash_of_made(tag_hash, Made::Result, created));
    if (last) last->next = ctx->heap->off(o);
    results[created] = last = o;
  }
}

void Outgoing::record(PyObject* name, uint64_t actor, PyObject* const* a) {
  OpNote* note = recorded.add(name, actor, args + kwargs, uint32_t(wanted < 0 ? 1 : wanted), *encoding.encoder);
  if (!note) return;
  note->bytes = encoding->size();
  note->layout = encoding->layout(args);
  for (uint32_t i = 0; i < args + kwargs; ++i)
    if (is_ref(a[i])) {
      auto* r = reinterpret_cast<PyRef*>(a[i]);
      note->sources.push_back({i, recorded.recorder->back_to(r->pattern), r->op, r->output});
    }
}

void Outgoing::tell_call_sent(PyObject* name) {
  uint32_t tail[kMaxTag];
  write_tail(tail);
  hooks.call_sent.tell(Owned(tag_tuple({root, tail, depth_of_tag})), name);
}

void Outgoing::tell_time(PyObject* name, Inbox* inbox, MessageKind kind) {
  uint32_t tail[kMaxTag];
  write_tail(tail);
  Timed& timed = *ctx->timed;
  const char* text = name ? PyUnicode_AsUTF8(name) : nullptr;
  const uint32_t order = inbox ? inbox->order.load(memory_order_seq_cst) : 0;
  const Index server = inbox ? inbox->timed : 0;
  const bool queues = server && (!(order & kPhysical) || order & kLoop);
  const uint64_t key = timed.call(ctx->strand(), {queues ? server : 0,
                                                  server ? timed.key_of(server) : 0,
                                                  text ? text : "",
                                                  results[0],
                                                  {root, tail, depth_of_tag},
                                                  &encoding->deps(),
                                                  (order & (kSeveral | kNamed)) != 0});
  if (kind == MessageKind::Create && server) timed.set_key(server, key);
}

bool Outgoing::carries(uint32_t callee, OpenCall& open) {
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

bool Outgoing::leads_on(Object* o) {
  if (!is_done(o)) return true;
  if (o->state.load(memory_order_acquire) != State::Value) return false;
  auto* v = reinterpret_cast<ValueHeader*>(value_of(ctx->heap, o));
  for (uint32_t i = 0; i < v->all_refs(); ++i) {
    auto* r = ctx->heap->at<Object>(value_refs(v)[i]);
    if ((kind_of(r) != kCode && kind_of(r) != kArguments) || leads_on(r)) return true;
  }
  return false;
}

void Outgoing::put_on_board(uint32_t callee, uint64_t target, OpenCall& open) {
  open.target = target;
  open.root = root;
  open.actor = callee;
  open.depth = uint16_t(depth_of_tag);
  write_tail(open.tail);
  if (const char* text = spec.name ? PyUnicode_AsUTF8(spec.name) : nullptr) memcpy(open.name, text, strnlen(text, sizeof open.name));
  ctx->order.open(results[0], open);
  on_board = true;
}

bool Outgoing::encode(PyObject* const* a, PyObject* kwnames) {
  if (!append(a, kwnames)) return false;
  value_size = has_arguments() ? encoding->size() : 0;
  ctx->proc->count_bytes(value_size, encoding->pickled_bytes());
  if (known) recorded.set_room(*encoding.encoder);
  if (value_size > kInlineArgs) {
    if (!given_before()) return false;
    if (args_object) return true;
    Fresh fresh(new_object(ctx->local, 1, kArguments));
    fresh.note = ctx->local.hold_list.add(ctx->heap->off(fresh.object), Entry::Hold);
    if (!encode_into(*encoding.encoder, fresh.object, false)) return false;
    args_note = fresh.note;
    args_object = fresh.keep();
    complete(ctx->local, args_object, State::Value);
    if (may_be_shared()) {
      if (ctx->last_arguments.repeat) args_object->use.store(ArgumentsUse::InCommon, memory_order_relaxed);
      forget_arguments();  // another thread's, while encode_into had given up the GIL
      take_hold(args_object);
      ctx->last_arguments.note = ctx->local.hold_list.add(ctx->heap->off(args_object), Entry::Hold);
      ctx->last_arguments.object = args_object;
    }
    value_size = 0;
  }
  return true;
}

bool Outgoing::given_before() {
  Object* last = ctx->last_arguments.object;
  ArgumentsUse use = ArgumentsUse::Fresh;
  if (last && last->size == value_size && may_be_shared() &&
      (last->use.compare_exchange_strong(use, ArgumentsUse::InCommon) || use == ArgumentsUse::InCommon)) {
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
    ctx->last_arguments.repeat = same;
    if (same) {
      ctx->local.hold_list.reserve();
      take_hold(last);
      args_note = ctx->local.hold_list.add(ctx->heap->off(last), Entry::Hold);
      args_object = last;
      value_size = 0;
      return true;
    }
  }
  forget_arguments();
  return true;
}

// (args, kwargs) as Python objects, for the slow path of argument checks.
bool check_with_python(const CallSpec& s, PyObject* const* args, Py_ssize_t n, PyObject* kwnames) {
  bool plain = !kwnames || PyTuple_GET_SIZE(kwnames) == 0;
  if (!plain && PyTuple_GET_SIZE(kwnames) > UINT16_MAX) {
    PyErr_Format(PyExc_TypeError, "a call takes %d keyword arguments at most", UINT16_MAX);
    return false;
  }
  if (!s.check) return true;
  Owned a(PyTuple_New(n)), kw(PyDict_New());
  if (!a || !kw) return false;
  for (Py_ssize_t i = 0; i < n; ++i) PyTuple_SET_ITEM(a.get(), i, Py_NewRef(args[i]));
  for (Py_ssize_t i = 0; !plain && i < PyTuple_GET_SIZE(kwnames); ++i) PyDict_SetItem(kw.get(), PyTuple_GET_ITEM(kwnames, i), args[n + i]);
  return bool(Owned(PyObject_CallFunctionObjArgs(s.check, a.get(), kw.get(), nullptr)));
}

bool take_given_tag() {
  Owned tag = hooks.call_tag();
  if (tag && tag.get() != Py_None) {
    ctx->here.depth = 0;
    ctx->hash_of_here = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tag.get()); ++i) {
      const uint64_t n = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(tag.get(), i));
      if (i == 0) ctx->here.root = n;
      else if (i + 1 < PyTuple_GET_SIZE(tag.get())) ctx->here.push(uint32_t(n));
      else ctx->issued = n - 1;
    }
  }
  return tag && !PyErr_Occurred();
}

PyObject* refuse_argument(const CallSpec& spec) {
  if (!hooks.unpicklable || !spec.name || !PyErr_ExceptionMatches(PyExc_TypeError)) return nullptr;
  Owned error = take_error();
  Owned better = hooks.unpicklable(error.get(), spec.check, spec.name);
  error.reset();
  if (better) set_error(better.get());
  return nullptr;
}

}  // namespace reactor
