#include "array_memory.h"
#include <mutex>
#include <unordered_set>
#include "spill.h"

namespace reactor {
namespace {

constexpr size_t kSizes = 8;

uint64_t bytes_of(Heap* h, Off run) { return uint64_t(h->page_run[h->page_of(run)].load(memory_order_relaxed)) * kPage; }

// numpy calls its allocator with the GIL as a rule, and need not: nothing here asks for it.
struct Lender {
  Heap* heap = nullptr;
  Allocator* alloc = nullptr;           // of runs only, which needs no lock (alloc.h)
  PyDataMemAllocator base{};            // numpy's own, for everything else
  atomic<uint64_t> sizes[kSizes] = {};  // of arrays to be made in the heap
  size_t next = 0;                      // size to be forgotten next; guarded by the GIL
  std::mutex lock;
  std::unordered_set<Off> lent;         // runs that arrays own; guarded by `lock`
  bool forked = false;                  // this is a child of the worker: what was lent is memory of its own
  int pipe[2] = {-1, -1};               // the child closes it when it has its copies

  bool expects(uint64_t size) const {
    for (auto& s : sizes)
      if (s.load(memory_order_relaxed) == size) return true;
    return false;
  }
  bool has(const void* p) const {
    return static_cast<const uint8_t*>(p) >= heap->base && static_cast<const uint8_t*>(p) < heap->base + heap->capacity;
  }
  Off run(const void* p) const { return heap->off(p) - kArrayHead; }

  void* take(uint64_t size) {
    if (forked || size < kLeastArray || !expects(size)) return nullptr;
    Off off = alloc->alloc(size + kArrayHead);
    if (!off) return nullptr;
    std::lock_guard held(lock);
    lent.insert(off);
    return heap->at<uint8_t>(off) + kArrayHead;
  }
  void give(void* p) {
    std::lock_guard held(lock);
    Off off = run(p);
    if (lent.erase(off) == 0) return;
    if (forked) munmap(heap->at<uint8_t>(off), bytes_of(heap, off));
    else alloc->free(off);
  }
};

Lender* lender = nullptr;  // from the first array on that is worth it
thread_local bool lends = false;

void* lent_malloc(void*, size_t size) {
  void* p = lender->take(size);
  return p ? p : lender->base.malloc(lender->base.ctx, size);
}
void* lent_calloc(void*, size_t n, size_t each) {
  void* p = lender->take(n * each);
  return p ? memset(p, 0, n * each) : lender->base.calloc(lender->base.ctx, n, each);
}
void lent_free(void*, void* p, size_t size) {
  if (p && lender->has(p)) lender->give(p);
  else lender->base.free(lender->base.ctx, p, size);
}
void* lent_realloc(void* c, void* p, size_t size) {
  if (!p || !lender->has(p)) return lender->base.realloc(lender->base.ctx, p, size);
  void* to = lent_malloc(c, size);
  if (!to) return nullptr;
  memcpy(to, p, std::min(uint64_t(size), bytes_of(lender->heap, lender->run(p)) - kArrayHead));
  lender->give(p);
  return to;
}

PyDataMem_Handler handler = {"reactor", 1, {nullptr, lent_malloc, lent_calloc, lent_realloc, lent_free}};

// ---- fork

void before_fork() {
  lender->lock.lock();
  if (lender->forked || lender->lent.empty() || pipe2(lender->pipe, O_CLOEXEC) != 0) lender->pipe[0] = lender->pipe[1] = -1;
}

void in_parent() {
  if (lender->pipe[1] >= 0) {
    close(lender->pipe[1]);
    char none;
    while (read(lender->pipe[0], &none, 1) < 0 && errno == EINTR) {}  // until the child has closed its end, or is dead
    close(lender->pipe[0]);
  }
  lender->lock.unlock();
}

void in_child() {
  if (!lender->forked) {
    for (Off off : lender->lent) {
      uint8_t* at = lender->heap->at<uint8_t>(off);
      uint64_t size = bytes_of(lender->heap, off);
      void* copy = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (copy == MAP_FAILED) abort();  // the child would write to its parent's arrays
      memcpy(copy, at, size);
      if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, at) == MAP_FAILED) abort();
    }
    lender->forked = true;
  }
  if (lender->pipe[1] >= 0) {
    close(lender->pipe[0]);
    close(lender->pipe[1]);
  }
  lender->lock.unlock();
}

// From now on numpy asks here in this thread. False: the program has an allocator of its own.
bool lend() {
  PyObject* now = PyDataMem_GetHandler();
  auto* theirs = now ? static_cast<PyDataMem_Handler*>(PyCapsule_GetPointer(now, "mem_handler")) : nullptr;
  bool may = theirs && strcmp(theirs->name, "default_allocator") == 0;
  if (may && !lender) {
    lender = new Lender;
    lender->heap = ctx->heap;
    lender->alloc = &ctx->local.alloc;
    lender->base = theirs->allocator;
    pthread_atfork(before_fork, in_parent, in_child);
  }
  Py_XDECREF(now);
  PyObject* capsule = may ? PyCapsule_New(&handler, "mem_handler", nullptr) : nullptr;
  PyObject* before = capsule ? PyDataMem_SetHandler(capsule) : nullptr;
  Py_XDECREF(capsule);
  Py_XDECREF(before);
  PyErr_Clear();
  return before;
}

}  // namespace

PyArrayObject* sole_owner(PyArrayObject* a) {
  auto alone = [](PyArrayObject* x) { return Py_REFCNT(x) == 1 && !reinterpret_cast<PyArrayObject_fields*>(x)->weakreflist; };
  if (!alone(a)) return nullptr;
  PyObject* base = PyArray_BASE(a);
  if (base && (!PyArray_CheckExact(base) || !alone(reinterpret_cast<PyArrayObject*>(base)))) return nullptr;
  auto* owner = base ? reinterpret_cast<PyArrayObject*>(base) : a;
  return PyArray_CHKFLAGS(owner, NPY_ARRAY_OWNDATA) ? owner : nullptr;
}

Off run_of(PyArrayObject* owner) {
  void* p = PyArray_DATA(owner);
  return lender && !lender->forked && lender->has(p) ? lender->run(p) : 0;
}

uint64_t run_bytes(Off run) { return bytes_of(lender->heap, run); }

void expect_arrays_like(PyArrayObject* owner) {
  auto size = uint64_t(PyArray_NBYTES(owner));
  if (!ctx->serving || size < kLeastArray) return;
  if (!lends && !(lends = lend())) return;
  if (lender->expects(size)) return;
  lender->sizes[lender->next].store(size, memory_order_relaxed);
  lender->next = (lender->next + 1) % kSizes;
}

void give_run_away(PyArrayObject* owner) {
  PyArray_CLEARFLAGS(owner, NPY_ARRAY_OWNDATA);
  std::lock_guard held(lender->lock);
  lender->lent.erase(lender->run(PyArray_DATA(owner)));
}

}  // namespace reactor
