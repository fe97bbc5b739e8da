// Two words, each written by one party who then reads the other's, without fences: all four accesses are seq_cst, or a seq_cst fence stands in one of the two. So are done:
//
//   a worker that gives resources back, and the supervisor, which counts the actors that wait and then takes resources (serve.cpp, resources.cpp)
//   a worker that claims a task, and the supervisor, which counts them and then looks for a task before an actor (serve.cpp, tasks.h)
//   who lets a message start in timed order, and a worker that begins to serve the inbox (model.cpp, run.cpp)
//   who gives up an actor's last handle, and such a worker (supervisor.cpp, run.cpp)
//   who gives up a handle that does not keep the actor alive, and who buries the actor (links.cpp, reap.cpp)
#include "model.h"
MUTANTS(GIVE, WAITING_SEEN, FENCE_OF_WAITING, GRANT, PROC_SEEN, PROC, GRANT_SEEN)

static atomic_int free_cpus, waiting, granted, proc;
static bool told, taken, woken, found;

static void* worker(void* _) {
  //= channels/tasks.h: for (int i = 0; i < d.n; ++i) hdr->resource[parts[i].index].free.fetch_add(parts[i].amount, memory_order_seq_cst);
  //= channels/tasks.h: if (!found.ring->at(found.at).compare_exchange_strong(task, claimed(me, task), memory_order_seq_cst)) {
  ADD(free_cpus, 1, IS(GIVE) ? acq_rel : sc);
  //= worker/serve.cpp: if (ctx->header->actors_waiting.load(memory_order_seq_cst)) send_control(Control::Resources, 0);
  //= calls/waiting.cpp: if (ctx->header->actors_waiting.load(memory_order_seq_cst)) send_control(Control::Resources, 0);
  //= calls/links.cpp: bool last = weak_count(actor).fetch_sub(1, memory_order_seq_cst) == 1;
  //= calls/links.cpp: if (last && l.heap->at<Inbox>(body.inbox)->state.load(memory_order_seq_cst) == InboxState::Dead)
  told = LOAD(waiting, IS(WAITING_SEEN) ? acq : sc);
  return NULL;
}
static void* supervisor(void* _) {
  //= bindings/resources.cpp: ctx->header->actors_waiting.store(n, memory_order_seq_cst);
  STORE(waiting, 1, sc);
  //= bindings/resources.cpp: std::atomic_thread_fence(memory_order_seq_cst);
  FENCE(M(FENCE_OF_WAITING, sc));
  //= channels/tasks.h: if (hdr->resource[parts[i].index].free.load(memory_order_acquire) < parts[i].amount) return false;
  taken = LOAD(free_cpus, acq);
  return NULL;
}
static void* grants(void* _) {
  //= timed/model.cpp: s->granted.store(strand_of, memory_order_seq_cst);
  //= supervise/supervisor.cpp: if (in->state.compare_exchange_strong(open, InboxState::Ending, memory_order_seq_cst)) {
  STORE(granted, 1, IS(GRANT) ? rel : sc);
  //= timed/model.cpp: const uint32_t p = local_.heap->at<Inbox>(s->inbox)->proc.load(memory_order_seq_cst);
  //= supervise/supervisor.cpp: uint32_t p = in->proc.load(memory_order_seq_cst);
  woken = LOAD(proc, IS(PROC_SEEN) ? acq : sc);
  return NULL;
}
static void* begins(void* _) {
  //= bindings/run.cpp: if (Off in = p->inbox.load()) h->at<Inbox>(in)->proc.store(slot, memory_order_seq_cst);
  STORE(proc, 1, IS(PROC) ? rel : sc);
  //= timed/timed.h: Index granted(Index server) { return model_.server(server).granted.load(memory_order_seq_cst); }
  found = LOAD(granted, IS(GRANT_SEEN) ? acq : sc);
  return NULL;
}

int main(void) {
  start(worker), start(supervisor), start(grants), start(begins);
  wait_for_all();
  assert(told || taken);
  assert(woken || found);
  return 0;
}
