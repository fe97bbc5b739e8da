// Garbage collection in all processes of the run, so that refs in unreachable cycles of Python objects (exceptions and their frames, for example) keep
// no values in a store that is full.
//
// Who finds it full raises Header::collect_round [release], rings all workers, and sends Control::Collect to the supervisor, which tells the drivers.
// Each process compares that with its own Proc::collect_round where it may run any Python code: a worker where it looks for work, every process
// where it waits in get or wait and where it stores a large value, and a driver also in the thread that reads from the supervisor. So a process that
// computes for long collects when that ends. It stores its own round when it has collected [release]: the asker then sees the room.
#pragma once
#include "process/context.h"

namespace reactor {

inline bool asked_to_collect() {
  return ctx->header->collect_round.load(memory_order_relaxed) != ctx->proc->collect_round.load(memory_order_relaxed);
}
// Does so if it was asked. The caller has the GIL. Runs destructors. False: one of them has ended the run, and a Python error is set.
bool collect_if_asked();
// Asks all processes, this one included, at most once in ten seconds unless `always`. Waits a moment for those that can answer at once,
// or until `bytes` fit. False as above.
bool collect_everywhere(int64_t bytes, bool always = false);
// Collects in this process, also if the program has disabled automatic collection. False as above.
bool collect_here();

}  // namespace reactor
