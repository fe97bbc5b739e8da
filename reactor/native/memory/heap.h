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
#include "memory/descriptor.h"
#include "memory/layout.h"
#include "memory/undumped.h"

#ifndef REACTOR_KILL_POINT
#define REACTOR_KILL_POINT()  // tests end a process here
#endif

namespace reactor {

inline uint64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return uint64_t(t.tv_sec) * 1000000000ull + uint64_t(t.tv_nsec);
}

// A stamp that grows with time across processes. The TSC of every x86-64 this decade is constant and synchronous.
inline uint64_t timestamp() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return now_ns();
#endif
}

// Fetches what lies there for writing (for reading, on some CPUs that are not x86), so that what follows does not wait for it: a process is killed most
// often where it waits for memory. Changes nothing.
template <class T> inline void warm(atomic<T>& x) {
  T none{};
  x.compare_exchange_strong(none, none, memory_order_relaxed);
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

// Bytes of the kernel's pages: 4 KiB, or 16 or 64 KiB on some aarch64. The tests pretend larger ones than there are, which is
// only a stricter alignment.
inline uint64_t memory_page() {
#ifdef REACTOR_MEMORY_PAGE
  return REACTOR_MEMORY_PAGE;
#else
  static const auto size = uint64_t(sysconf(_SC_PAGESIZE));
  return size;
#endif
}

class Heap {
 public:
  // Makes a fresh heap. `room`: bytes of addresses for all but the header. `store_limit` bounds the bytes in large values; the mapping itself is sparse.
  static Heap* create(uint64_t room, int64_t store_limit, int cores) {
    const uint64_t capacity = room + kHeaderPages * kPage;
    if (kPage % memory_page() != 0)
      throw std::runtime_error("the kernel's memory pages have " + std::to_string(memory_page()) + " bytes; at most 65536 are supported");
    int fd = memfd_create("reactor", MFD_CLOEXEC);
    if (fd < 0) throw std::runtime_error(std::string("memfd_create: ") + strerror(errno));
    if (ftruncate(fd, off_t(capacity)) != 0) {
      int e = errno;
      close(fd);
      throw std::runtime_error(std::string("sizing the shared heap: ") + strerror(e));
    }
    Heap* h = new Heap(move_high(fd), capacity);
    Header* hdr = h->header;
    hdr->capacity = capacity;
    hdr->cores = cores;
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    hdr->cpus = cpus < 1 ? 1 : cpus < long(kMaxCores) ? uint32_t(cpus) : kMaxCores;
    hdr->store_limit = store_limit;
    // Memory that was in use at one time may stay warm. Otherwise a loop with large values would touch fresh pages in each round.
    hdr->warm_limit = store_limit / 2 > (256 << 20) ? store_limit / 2 : 256 << 20;
    uint64_t tables = capacity / kPage * (8 + sizeof(Residence)) + kLine + sizeof(Proc) * uint64_t(kMaxProcs);
    hdr->pages_at = align_up(kHeaderPages * kPage + tables, kPage);
    hdr->pages = uint32_t((capacity - hdr->pages_at) / kPage);
    hdr->next_uid.store(1);
    hdr->next_actor.store(1);
    hdr->magic = kMagic;
    h->locate();
    return h;
  }

  static Heap* attach(int fd) {
    const off_t end = lseek(fd, 0, SEEK_END);
    if (end < 0) throw std::runtime_error(std::string("attaching the shared heap: ") + strerror(errno));
    const auto capacity = uint64_t(end);
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
    for (uint8_t* shadow : shadows_)
      if (shadow) munmap(shadow, capacity);
    file_.close();
    spill_.close();
  }
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  template <class T> T* at(Off off) const { return reinterpret_cast<T*>(base + off); }
  // Whose own bell it is; none of a process's threads'.
  Proc* owner(Bell* b) const {
    auto* p = reinterpret_cast<Proc*>(b);
    static_assert(offsetof(Proc, bell) == 0);
    return p >= procs && p < procs + kMaxProcs ? p : nullptr;
  }
  Off off(const void* p) const { return Off(static_cast<const uint8_t*>(p) - base); }
  uint32_t page_of(Off off) const { return uint32_t((off - header->pages_at) / kPage); }
  Off page_at(uint32_t page) const { return header->pages_at + Off(page) * kPage; }

  // Copy-on-write views of the same bytes: what is written through one is seen through it alone. Several, because actors that share a
  // process may each have one of the same value. Made on first use; null: the kernel gives no more.
  static constexpr size_t kShadows = 16;
  uint8_t* shadow(size_t which) {
    uint8_t*& shadow = shadows_[which];
    if (!shadow && file_.is_own()) {
      void* p = map_undumped(capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file_.number());
      if (p != MAP_FAILED) shadow = static_cast<uint8_t*>(p);
    }
    return shadow;
  }

  // The heap takes over the descriptor of the run's spill file.
  void take_spill_file(int fd) {
    spill_ = Descriptor(fd);
    if (spill_.is_own()) header->spills = 1;
  }
  // The spill file's descriptor; -1 without one, or if the program has closed it.
  int spill_file() const { return spill_.is_own() ? spill_.number() : -1; }
  bool lost_spill_file() const { return spill_.number() >= 0 && !spill_.is_own(); }
  void punch_file(Off at, uint64_t bytes) const {
    int file = spill_file();
    // A file system that makes no holes keeps the room for the next value at this place, and the file ends with the run: nothing to tell.
    if (file >= 0) fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(at), off_t(bytes));
  }

  // Gives the memory behind these bytes of the heap back to the system. By address: a program may close descriptors that are not its
  // own, and the hole would be made in the file that has the number now. By descriptor, if it is still the heap's, where memory is
  // locked (mlockall). False: neither works. The bytes then stay in memory until they are used again, and nothing is lost; that a
  // kernel never gives any back is found out, and told, when the heap is made.
  bool give_back(Off at, uint64_t bytes) const {
    static const auto page = uint64_t(sysconf(_SC_PAGESIZE));
    const Off first = align_up(at, page);
    if (first >= at + bytes || madvise(base + first, at + bytes - first, MADV_REMOVE) == 0) return true;
    return file_.is_own() && fallocate(file_.number(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off_t(at), off_t(bytes)) == 0;
  }

  int fd() const { return file_.number(); }
  Descriptor control;  // of this process: the datagram socket to the supervisor
  uint64_t capacity;
  uint8_t* base;
  Header* header;
  atomic<uint32_t>* page_state = nullptr;
  atomic<uint32_t>* page_run = nullptr;
  Residence* residence = nullptr;
  Proc* procs = nullptr;
  int64_t users = 1;  // the runtime, and every view that outlives it; guarded by the GIL

 private:
  Heap(int fd, uint64_t capacity) : capacity(capacity), file_(fd) {
    void* p = map_undumped(capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd);
    if (p == MAP_FAILED) throw std::runtime_error(std::string("mapping the shared heap: ") + strerror(errno));
    base = static_cast<uint8_t*>(p);
    header = reinterpret_cast<Header*>(base);
  }
  void locate() {
    page_state = at<atomic<uint32_t>>(kHeaderPages * kPage);
    page_run = page_state + capacity / kPage;
    residence = reinterpret_cast<Residence*>(page_run + capacity / kPage);
    procs = reinterpret_cast<Proc*>(align_up(reinterpret_cast<uint64_t>(residence + capacity / kPage), kLine));
  }
  uint8_t* shadows_[kShadows] = {};
  Descriptor file_, spill_;
};

}  // namespace reactor
