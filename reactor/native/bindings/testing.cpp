// For tests and benchmarks alone; in the module where it is built with REACTOR_TESTING.
#include "bindings.h"
#include <sys/mman.h>
#include <sys/wait.h>

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
  nb::object ref = steal(put_value(value.ptr()));
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

}  // namespace

void bind_testing(nb::module_& m) {
  m.def("roundtrip", &roundtrip, nb::arg("value").none());
  m.def("futex_ping_pong", &futex_ping_pong, nb::arg("rounds"));
}

}  // namespace reactor
