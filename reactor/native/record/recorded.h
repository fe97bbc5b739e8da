// An operation's place in the recording.
#pragma once
#include <algorithm>
#include "codec/codec.h"
#include "record/recorder.h"
#include "types/refs.h"
#include "record/site.h"

namespace reactor {

struct Recorded {
  OpKey key{};
  Recorder* recorder = nullptr;     // null: it is not recorded
  uint32_t node = 0;                // in the recorder's trie; 0: it is not there yet
  uint32_t pattern = 0, depth = 0;  // where that is
  uint32_t position = 0;            // of the caller, when it was looked up

  // Whether the operation that begins now is recorded. Only those of the process's main thread are: others have no serial order.
  bool begin() {
    Recorder* r = ctx->recorder;
    if (r && r->awake() && PyThread_get_thread_ident() == ctx->main_thread) recorder = r;
    return recorder;
  }
  // Finds it in the recording; the key is complete but for the call site.
  void look_up() {
    reactor_call_site(&key.code, &key.instruction);
    follow();
  }
  // What its arguments took when it was recorded; 0: they cannot be encoded in place.
  uint32_t room() const { return node && recorder->note(node) ? recorder->room(node) : 0; }
  // They did not fit it this time.
  void set_room(const Encoder& encoded) {
    if (node && recorder == ctx->recorder) recorder->set_room(node, room_for(encoded));
  }
  // Its arguments have been encoded: adds it to the recording if it is new. Gives what is to be described of it, or null.
  OpNote* add(PyObject* name, uint64_t actor, uint32_t args, uint32_t results, const Encoder& encoded) {
    if (!recorder || recorder != ctx->recorder) return nullptr;
    if (!node && recorder->position() != position) follow();  // pickling an argument has made calls
    if (!node) {
      node = recorder->record(key, name, uint32_t(actor), args, results);
      if (!node) return nullptr;
      recorder->set_room(node, room_for(encoded));
      locate();
    }
    return recorder->undescribed(node) ? recorder->note(node) : nullptr;
  }
  // The ref tells where its value comes from.
  void mark(PyObject* ref, size_t output = 0) const {
    if (!ref || !node) return;
    auto* r = reinterpret_cast<PyRef*>(ref);
    r->pattern = pattern;
    r->op = depth;
    r->recorded = node;
    r->output = uint16_t(std::min<size_t>(output, kMaxOutput));
  }

 private:
  void follow() {
    node = recorder->follow(key);
    position = recorder->position();
    if (!node) return;
    ctx->proc->in_patterns.store(recorder->matched(), memory_order_relaxed);
    locate();
  }
  void locate() {
    pattern = recorder->pattern();
    depth = recorder->depth();
  }
};

}  // namespace reactor
