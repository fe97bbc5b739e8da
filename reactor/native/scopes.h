// What the context says of the running call, each part set and put back by a scope.
#pragma once
#include <algorithm>
#include "actor_states.h"
#include "inbox_server.h"

namespace reactor {

// The running call's tag, and what numbers the calls that it makes (order.h). At the end of the scope the call around it goes on.
class TagScope {
 public:
  explicit TagScope(Message* m) : outer_issued_(ctx->issued) {
    ctx->serves = m->kind == MessageKind::Task ? 0 : m->actor;
    if (!ctx->tagged) return;
    outer_.assign(ctx->here);
    ctx->here.assign(tag_of(m));
    ctx->issued = 0;
    ++ctx->level;
  }
  TagScope(const TagScope&) = delete;
  TagScope& operator=(const TagScope&) = delete;
  ~TagScope() {
    if (!ctx->tagged) return;
    --ctx->level;
    if (stays_) return;
    ctx->here.assign(outer_);
    ctx->issued = outer_issued_;
  }
  // What a call makes that goes on in a thread or an event loop is numbered after the last one that began here.
  void stay() { stays_ = true; }

 private:
  Tag outer_;
  const uint64_t outer_issued_;
  bool stays_ = false;
};

// What the context says of the running call, for cancel and the runtime context. At the end of the scope it says that of the call around it.
// In inline placement calls run one inside of the other, but those of several threads overlap: who leaves goes back to the one that
// began last of those that are left.
class RunningScope {
 public:
  explicit RunningScope(uint32_t state) : call_{state} {}
  RunningScope(const RunningScope&) = delete;
  RunningScope& operator=(const RunningScope&) = delete;
  ~RunningScope() { end(); }
  // Inline: from here on what runs, the decoding of arguments too, is the actor's.
  void enter() {
    if (!ctx->inline_mode) return;
    call_.thread = PyThread_get_thread_ident();
    ctx->inline_calls.push_back(&call_);
    entered_ = true;
    enter_own_state();
  }
  // `message`: null if it cannot be run again.
  void begin(Off running, uint64_t uid, uint32_t actor, Message* message) {
    outer_ = {0, 0, ctx->running, ctx->running_uid, ctx->running_actor, ctx->running_callable, ctx->running_message};
    begun_ = true;
    call_.running = running;
    call_.uid = uid;
    call_.actor = actor;
    call_.message = message;
    ctx->running = running;
    ctx->running_uid = uid;
    ctx->running_actor = actor;
    ctx->running_message = message;
  }
  void calls(PyObject* callable) { call_.callable = ctx->running_callable = callable; }
  void end() {
    if (entered_) {
      std::erase(ctx->inline_calls, &call_);
      const InlineCall driver{ActorStates::kDriver};
      go_on(ctx->inline_calls.empty() ? driver : *ctx->inline_calls.back());
      enter_own_state();
    } else if (begun_) {
      go_on(outer_);
    }
    entered_ = begun_ = false;
  }

 private:
  static void go_on(const InlineCall& with) {
    ctx->running = with.running;
    ctx->running_uid = with.uid;
    ctx->running_actor = with.actor;
    ctx->running_callable = with.callable;
    ctx->running_message = with.message;
  }
  InlineCall call_, outer_{};
  bool entered_ = false, begun_ = false;
};

// The calls that the running one makes are recorded as its own (recorder.h).
class RecordingScope {
 public:
  RecordingScope() = default;
  RecordingScope(const RecordingScope&) = delete;
  RecordingScope& operator=(const RecordingScope&) = delete;
  ~RecordingScope() { end(); }
  void begin(Recorder* recorder, uint64_t who, PyObject* name, uint32_t actor) {
    outer_ = recorder->enter(who, name, actor);
    recorder_ = recorder;
  }
  void end() {
    if (Recorder* recorder = std::exchange(recorder_, nullptr)) recorder->leave(outer_);
  }

 private:
  Recorder* recorder_ = nullptr;
  Recorder::Caller outer_;
};

}  // namespace reactor
