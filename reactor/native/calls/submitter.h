// Who has submitted a task: a process or, where several actors share one, an actor of it. A task ends with its submitter (supervise/orphans.h).
#pragma once
#include "process/context.h"

namespace reactor {

// Message::submitter: the process's entry, its generation and, in a worker that outlives its actors, the actor's number.
inline uint64_t submitter_of(const Heap* h, uint32_t slot, uint32_t actor) {
  return uint64_t(actor) << 32 | uint64_t(h->procs[slot].generation & 0xffff) << 16 | slot;
}
inline uint64_t submitter_here() { return submitter_of(ctx->heap, ctx->slot, ctx->placement->outlives_actors() ? ctx->call->actor : 0); }

// Whether `submitter` is `ended` or, if that is a whole process, one of its actors.
inline bool is_of(uint64_t submitter, uint64_t ended) {
  return uint32_t(submitter) == uint32_t(ended) && (ended >> 32 == 0 || submitter >> 32 == ended >> 32);
}

}  // namespace reactor
