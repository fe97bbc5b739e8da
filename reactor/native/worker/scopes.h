// Scopes that set the facts about the running call in the context, and restore them when they end.
#pragma once
#include "inbox/inbox_server.h"
#include "record/recorder.h"

namespace reactor {

// The running call's tag, and what numbers the calls that it makes (order.h). At the end of the scope the call around it goes on.
class TagScope {
 public:
  explicit TagScope(Message* m) : outer_issued_(ctx->issued), outer_made_(ctx->made) {
    ctx->receiving_actor = m->kind == MessageKind::Task ? 0 : m->actor;
    if (!ctx->tagged) return;
    outer_.assign(ctx->here);
    ctx->here.assign(tag_of(m));
    ctx->hash_of_here = 0;
    ctx->issued = ctx->made = 0;
    ++ctx->level;
  }
  TagScope(const TagScope&) = delete;
  TagScope& operator=(const TagScope&) = delete;
  ~TagScope() {
    if (!ctx->tagged) return;
    --ctx->level;
    if (stays_) return;
    ctx->here.assign(outer_);
    ctx->hash_of_here = 0;
    ctx->issued = outer_issued_;
    ctx->made = outer_made_;
  }
  // What a call makes that goes on in a thread or an event loop is numbered after the last one that began here.
  void stay() { stays_ = true; }

 private:
  Tag outer_;
  const uint64_t outer_issued_, outer_made_;
  bool stays_ = false;
};

// Which call runs, for cancel and the runtime context. At the end of the scope none does, or, in inline placement, one that goes on.
class RunningScope {
 public:
  explicit RunningScope(RunningCall& call) : call_(call) {}
  RunningScope(const RunningScope&) = delete;
  RunningScope& operator=(const RunningScope&) = delete;
  ~RunningScope() { end(); }
  void enter() {
    entered_ = true;
    ctx->placement->call_begins(call_);
  }
  void begin() { ctx->call = &call_; }
  void end() {
    if (!std::exchange(entered_, false)) return;
    ctx->call = &kNoCall;
    ctx->placement->call_left(call_);
  }

 private:
  RunningCall& call_;
  bool entered_ = false;
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
