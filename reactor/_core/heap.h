// The shared heap as one process sees it: mapping, addressing, futex and time.
#pragma once
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string>
#include <fcntl.h>
#include <sched.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif
#include "layout.h"

namespace reactor {

inline uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return uint64_t(t.tv_sec) * 1000000000ull + uint64_t(t.tv_nsec);
}

// A stamp that grows with time across processes. The TSC of every x86-64 this decade is constant and synchronous.
inline uint64_t stamp() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return now_ns();
#endif
}

inline void cpu_relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

inline int futex_wait(atomic<uint32_t>* word, uint32_t seen, uint64_t timeout_ns) {
  timespec t{time_t(timeout_ns / 1000000000ull), long(timeout_ns % 1000000000ull)};
  long r = syscall(SYS_futex, word, FUTEX_WAIT, seen, timeout_ns == UINT64_MAX ? nullptr : &t, nullptr, 0);
  return r == 0 ? 0 : errno;
}
inline void futex_wake(atomic<uint32_t>* word, int n = 1) { syscall(SYS_futex, word, FUTEX_WAKE, n, nullptr, nullptr, 0); }

class Heap {
 public:
  // Makes a fresh heap. `store_limit` bounds the bytes in large values; the mapping itself is sparse.
  static Heap* create(uint64_t capacity, int64_t store_limit, int cores) {
    int fd = memfd_create("reactor", MFD_CLOEXEC);
    if (fd < 0) throw std::runtime_error(std::string("memfd_create: ") + strerror(errno));
    if (ftruncate(fd, off_t(capacity)) != 0) {
      int e = errno;
      close(fd);
      throw std::runtime_error(std::string("sizing the shared heap: ") + strerror(e));
    }
    Heap* h = new Heap(fd, capacity);
    Header* hdr = h->header;
    hdr->capacity = capacity;
    hdr->cores = cores;
    hdr->store_limit = store_limit;
    hdr->warm_limit = 256 << 20;
    uint64_t tables = capacity / kPage * 8 + sizeof(Proc) * uint64_t(kMaxProcs);
    hdr->pages_at = align_up(kPage + tables, kPage);
    hdr->pages = uint32_t((capacity - hdr->pages_at) / kPage);
    hdr->next_uid.store(1);
    hdr->magic = kMagic;
    h->locate();
    return h;
  }

  static Heap* attach(int fd) {
    uint64_t capacity = uint64_t(lseek(fd, 0, SEEK_END));
    Heap* h = new Heap(fd, capacity);
    if (h->header->magic != kMagic) {
      delete h;
      throw std::runtime_error("the descriptor is not a reactor heap");
    }
    h->locate();
    return h;
  }

  ~Heap() {
    munmap(base, capacity);
    if (shadow_) munmap(shadow_, capacity);
    close(fd);
  }
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  template <class T> T* at(Off off) const { return reinterpret_cast<T*>(base + off); }
  Off off(const void* p) const { return Off(static_cast<const uint8_t*>(p) - base); }
  uint32_t page_of(Off off) const { return uint32_t((off - header->pages_at) / kPage); }
  Off page_at(uint32_t page) const { return header->pages_at + Off(page) * kPage; }

  // A copy-on-write view of the same bytes: what is written through it is seen by this process only. Made on first use.
  uint8_t* shadow() {
    if (!shadow_) {
      void* p = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
      if (p == MAP_FAILED) throw std::runtime_error(std::string("copy-on-write mapping: ") + strerror(errno));
      shadow_ = static_cast<uint8_t*>(p);
    }
    return shadow_;
  }

  int fd;
  uint64_t capacity;
  uint8_t* base;
  Header* header;
  atomic<uint32_t>* page_state = nullptr;
  atomic<uint32_t>* page_run = nullptr;
  Proc* procs = nullptr;
  int64_t users = 1;  // the runtime, and every view that outlives it; guarded by the GIL

 private:
  Heap(int fd, uint64_t capacity) : fd(fd), capacity(capacity) {
    void* p = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (p == MAP_FAILED) throw std::runtime_error(std::string("mapping the shared heap: ") + strerror(errno));
    base = static_cast<uint8_t*>(p);
    header = reinterpret_cast<Header*>(base);
  }
  void locate() {
    page_state = at<atomic<uint32_t>>(kPage);
    page_run = page_state + capacity / kPage;
    procs = reinterpret_cast<Proc*>(page_run + capacity / kPage);
  }
  uint8_t* shadow_ = nullptr;
};

}  // namespace reactor
