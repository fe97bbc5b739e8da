// For tests and benchmarks alone; in the module where it is built with REACTOR_TESTING.
#include "bindings.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include "order/patience.h"

namespace reactor {

// For tests: with REACTOR_DELAYS=n in the environment, sleeps up to n µs before a call is sent and before it is run, half of the times.
void delay() {
  if (ctx->delays == 0) return;
  static uint64_t state = now_ns() * 0x9e3779b97f4a7c15ull ^ uint64_t(getpid());
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  if (state & 1) return;
  timespec t{0, long((state >> 8) % (ctx->delays * 1000))};
  nanosleep(&t, nullptr);
}

namespace {

// An anonymous copy through the codec, as the other side would get it.
nb::object roundtrip(nb::object value) {
  nb::object ref = steal(put_value(value.ptr(), Exempt::None));
  return steal(decode_object(reinterpret_cast<PyRef*>(ref.ptr())->object));
}

// The floor of every call: two processes that wake each other by futex, nothing else. Seconds per round trip.
double futex_ping_pong(int rounds) {
  auto* word = static_cast<atomic<uint32_t>*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (word == MAP_FAILED) throw std::runtime_error("mmap failed");
  word->store(0);
  pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < rounds; ++i) {
      while (word->load() != uint32_t(2 * i + 1)) futex_wait(word, uint32_t(2 * i), UINT64_MAX);
      word->store(uint32_t(2 * i + 2));
      futex_wake(word);
    }
    _exit(0);
  }
  if (child < 0) throw std::runtime_error("fork failed");
  uint64_t start = now_ns();
  for (int i = 0; i < rounds; ++i) {
    word->store(uint32_t(2 * i + 1));
    futex_wake(word);
    while (word->load() != uint32_t(2 * i + 2)) futex_wait(word, uint32_t(2 * i + 1), UINT64_MAX);
  }
  double seconds = double(now_ns() - start) / 1e9 / rounds;
  waitpid(child, nullptr, 0);
  munmap(word, 4096);
  return seconds;
}

// Counters of the whole run, and what this process has done.
nb::dict stats() {
  need_ctx();
  Header* h = ctx->header;
  nb::dict d;
  uint64_t wakes = 0, sleeps = 0, executed = 0, live = 0;
  for (uint32_t i = 0; i < h->proc_high.load(); ++i) {
    Proc& p = ctx->heap->procs[i];
    if (p.state.load() != ProcState::Live) continue;
    ++live;
    wakes += p.wakes.load();
    sleeps += p.sleeps.load();
    executed += p.executed.load();
  }
  d["processes"] = live;
  d["wakes"] = wakes;
  d["sleeps"] = sleeps;
  d["executed"] = executed;
  d["operations"] = ctx->operations;
  d["values_written"] = ctx->values_written;
  d["values_read"] = ctx->values_read;
  d["store_used"] = store_used(ctx->heap);
  d["store_limit"] = h->store_limit;
  d["awake"] = h->awake.load();
  int32_t working = 0, polling = 0;
  for (uint32_t c = 0; c < kMaxCores; ++c) {
    working += h->core[c].work.load();
    polling += h->core[c].poller.load() != 0;
  }
  d["working"] = working;
  d["polling"] = polling;
  d["pool_idle"] = h->pool_idle.load();
  uint64_t slab = 0, used = 0;
  for (uint32_t i = 0; i < h->high_page.load(); ++i)
    if (ctx->heap->page_state[i].load() == kSlab) {
      ++slab;
      auto* page = ctx->heap->at<SlabPage>(ctx->heap->page_at(i));
      used += page->used.load() - (page->owner.load() == kAbandoned ? 0 : 1);
    }
  uint64_t notices = 0, pairs = 0;  // what order keeps for as long as the run lasts
  for (Off off = h->notices.load(memory_order_acquire); off; off = ctx->heap->at<Notice>(off)->next) ++notices;
  for (auto& bucket : h->waited)
    for (Off off = bucket.load(memory_order_acquire); off; off = ctx->heap->at<Waited>(off)->next) ++pairs;
  d["notices"] = notices;
  d["waited_pairs"] = pairs;
  d["slab_pages"] = slab;
  d["slab_slots_used"] = used;
  d["high_page"] = h->high_page.load();
  return d;
}

// Calls `found` with the place of each word of the heap's used pages that says `off`, whatever mark lies in its low bits.
template <class Found> void each_mention(Heap* h, Off off, Found found) {
  for (uint32_t page = 0, high = h->header->high_page.load(); page < high; ++page) {
    const uint32_t state = h->page_state[page].load();
    if (state != kSlab && state != kPlain) continue;
    const auto* word = h->at<atomic<uint64_t>>(h->page_at(page));
    for (uint64_t i = state == kSlab ? sizeof(SlabPage) / 8 : 0; i < kPage / 8; ++i)
      if ((word[i].load(memory_order_relaxed) & ~uint64_t(63)) == off) found(page, Off(h->page_at(page) + 8 * i));
  }
}

// The large values of the store: for each the pages, the word of its residence, and the objects whose it is, as dicts with what they say and
// the places that mention them: (size of the slot, number of the word in it, its low bits, the slot's first words). For who looks for values that nobody has let go of.
nb::list runs() {
  need_ctx();
  Heap* h = ctx->heap;
  nb::list found;
  for (uint32_t page = 0, high = h->header->high_page.load(); page < high; ++page) {
    if (h->page_state[page].load() != kRun) continue;
    const uint32_t pages = h->page_run[page].load();
    nb::list objects;
    each_mention(h, h->page_at(page), [&](uint32_t in, Off place) {
      auto* o = h->at<Object>(place - offsetof(Object, block));
      if (h->page_state[in].load() != kSlab || h->off(o) % alignof(Object) != 0) return;
      nb::list mentions;
      each_mention(h, h->off(o), [&](uint32_t other, Off where) {
        const bool slab = h->page_state[other].load() == kSlab;
        const Off first = h->page_at(other) + (slab ? sizeof(SlabPage) : 0);
        const uint64_t slot = slab ? kSlabSizes[h->at<SlabPage>(h->page_at(other))->size_class] : kPage;
        nb::list begin;  // of the slot
        for (uint64_t i = 0; i < 12; ++i) begin.append(h->at<uint64_t>(first + (where - first) / slot * slot)[i]);
        mentions.append(nb::make_tuple(slot, (where - first) % slot / 8, *h->at<uint64_t>(where) & 63, begin));
      });
      nb::dict d;
      d["holds"] = o->holds.load();
      d["state"] = int(o->state.load());
      d["kind"] = kind_of(o);
      d["uid"] = o->uid;
      d["runner"] = o->runner.load();
      d["mentions"] = mentions;
      objects.append(d);
    });
    found.append(nb::make_tuple(pages, h->residence[page].word.load(), objects));
    page += pages - 1;
  }
  return found;
}

}  // namespace

void bind_testing(nb::module_& m) {
  m.def("roundtrip", &roundtrip, nb::arg("value").none());
  m.def("futex_ping_pong", &futex_ping_pong, nb::arg("rounds"));
  m.def("runs", &runs, nb::call_guard<Using>());
  m.def("stats", &stats, nb::call_guard<Using>());
}

}  // namespace reactor
