#include "store/array_memory.h"
#include <mutex>
#include <unordered_map>
#include "store/spill.h"
#include "types/refs.h"

namespace reactor {
namespace {

constexpr size_t kSizes = 8;
constexpr size_t kLent = 16;                       // arrays in the heap at a time
constexpr uint64_t kForkPatienceNs = 2000000000;   // a child that takes longer for a copy was killed, or never born

// numpy calls its allocator with the GIL as a rule, and need not: nothing here asks for it.
struct Lender {
  Heap* heap = nullptr;
  Allocator* alloc = nullptr;           // of runs only, which needs no lock (alloc.h)
  PyDataMemAllocator base{};            // numpy's own, for everything else
  atomic<uint64_t> sizes[kSizes] = {};  // of arrays to be made in the heap
  size_t next = 0;                      // size to be forgotten next; guarded by the GIL
  std::mutex lock;
  std::unordered_map<Off, uint64_t> lent;  // runs that arrays own, and their lengths; guarded by `lock`
  bool forked = false;                  // this is a child of the worker: what was lent is memory of its own
  atomic<uint32_t>* copied = nullptr;   // in memory shared with a child: odd when it has its copies, and raised with each

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
    std::lock_guard held(lock);
    if (lent.size() >= kLent) return nullptr;
    Off off = alloc->alloc(size + kArrayHead);
    if (!off) return nullptr;
    lent[off] = Allocator::run_bytes(size + kArrayHead);
    return heap->at<uint8_t>(off) + kArrayHead;
  }
  void give(void* p) {
    std::lock_guard held(lock);
    Off off = run(p);
    auto it = lent.find(off);
    if (it == lent.end()) return;
    // A child keeps the addresses: what malloc put there would be taken for the heap's.
    // If it fails, the child keeps memory that it does not use, until it ends.
    if (forked) madvise(heap->at<uint8_t>(off), it->second, MADV_DONTNEED);
    else alloc->free(off);
    lent.erase(it);
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
  memcpy(to, p, std::min(uint64_t(size), run_bytes(lender->run(p)) - kArrayHead));
  lender->give(p);
  return to;
}

PyDataMem_Handler handler = {"reactor", 1, {nullptr, lent_malloc, lent_calloc, lent_realloc, lent_free}};

// ---- fork

void before_fork() {
  lender->lock.lock();
  lender->copied->store(lender->forked || lender->lent.empty(), memory_order_relaxed);
}

void in_parent() {
  uint32_t seen = 0;
  for (uint64_t since = now_ns();;) {
    const uint32_t copied = lender->copied->load(memory_order_acquire);
    if (copied & 1) break;
    if (copied != seen) since = now_ns();
    else if (now_ns() > since + kForkPatienceNs) break;
    seen = copied;
    futex_wait(lender->copied, seen, 100000000);
  }
  lender->lock.unlock();
}

[[noreturn]] void give_up() {
  dprintf(
      2,
      "reactor: a forked child (pid %d) cannot have its own copies of the parent's arrays (%s), and ends. Fork before the arrays are made, or free some memory\n",
      int(getpid()), strerror(errno));
  abort();
}

void in_child() {
  if (!lender->copied->load(memory_order_relaxed)) {
    for (auto [off, size] : lender->lent) {
      uint8_t* at = lender->heap->at<uint8_t>(off);
      void* copy = map_undumped(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
      if (copy == MAP_FAILED) give_up();  // the child would write to its parent's arrays
      memcpy(copy, at, size);
      if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, at) == MAP_FAILED) give_up();
      lender->copied->fetch_add(2, memory_order_relaxed);
    }
    lender->copied->fetch_add(1, memory_order_release);
    futex_wake(lender->copied);
  }
  lender->forked = true;
  lender->lock.unlock();
}

// From now on numpy asks here in this thread. False: the program has an allocator of its own.
bool lend() {
  Owned now(PyDataMem_GetHandler());
  auto* theirs = now ? static_cast<PyDataMem_Handler*>(PyCapsule_GetPointer(now.get(), "mem_handler")) : nullptr;
  // An array's data must begin at a memory page, for it is read copy-on-write.
  bool may = theirs && strcmp(theirs->name, "default_allocator") == 0 && kArrayHead % memory_page() == 0;
  if (may && !lender) {
    void* shared = map_undumped(memory_page(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
    may = shared != MAP_FAILED;
    if (may) lender = new Lender;
    if (may) lender->copied = static_cast<atomic<uint32_t>*>(shared);
  }
  if (may && !lender->heap) {
    lender->heap = ctx->heap;
    lender->alloc = &ctx->local.alloc;
    lender->base = theirs->allocator;
    pthread_atfork(before_fork, in_parent, in_child);
  }
  Owned capsule(may ? PyCapsule_New(&handler, "mem_handler", nullptr) : nullptr);
  Owned before(capsule ? PyDataMem_SetHandler(capsule.get()) : nullptr);
  PyErr_Clear();
  return bool(before);
}

// Whether nobody has it but one holder.
bool alone(PyArrayObject* a) { return Py_REFCNT(a) == 1 && !reinterpret_cast<PyArrayObject_fields*>(a)->weakreflist; }

atomic<bool> has_forked = false;  // since the first large argument

// The view of arguments, as they lie in the heap, that an array is based on; else null.
PyView* view_under(PyObject* base) {
  if (!base || Py_TYPE(base) != ViewType) return nullptr;
  auto* view = reinterpret_cast<PyView*>(base);
  return view->epoch == epoch && !view->writable && !view->mapping && kind_of(view->object) == kArguments ? view : nullptr;
}

}  // namespace

PyArrayObject* sole_owner(PyArrayObject* a) {
  if (!alone(a)) return nullptr;
  PyObject* base = PyArray_BASE(a);
  if (base && (!PyArray_CheckExact(base) || !alone(reinterpret_cast<PyArrayObject*>(base)))) return nullptr;
  auto* owner = base ? reinterpret_cast<PyArrayObject*>(base) : a;
  return PyArray_CHKFLAGS(owner, NPY_ARRAY_OWNDATA) ? owner : nullptr;
}

Object* arguments_of(PyObject* o) {
  if (!is_numpy(o) || !load_numpy() || !PyArray_CheckExact(o)) return nullptr;
  auto* a = reinterpret_cast<PyArrayObject*>(o);
  PyView* view = uint64_t(PyArray_NBYTES(a)) >= kLeastArray ? view_under(PyArray_BASE(a)) : nullptr;
  return view ? view->object : nullptr;
}

Object* arguments_under(PyArrayObject* a, uint64_t& at) {
  auto bytes = uint64_t(PyArray_NBYTES(a));
  auto* data = static_cast<uint8_t*>(PyArray_DATA(a));
  PyObject* base = reinterpret_cast<PyObject*>(a);
  for (; base && PyArray_CheckExact(base); base = PyArray_BASE(reinterpret_cast<PyArrayObject*>(base)))
    if (!alone(reinterpret_cast<PyArrayObject*>(base))) return nullptr;
  PyView* view = view_under(base);
  if (!view || Py_REFCNT(base) != 1 || data < view->data || data + bytes > view->data + view->size || uint64_t(data) % kLine)
    return nullptr;
  Object* o = view->object;
  auto* value = reinterpret_cast<ValueHeader*>(value_of(ctx->heap, o));
  ArgumentsUse use = ArgumentsUse::ReadAsTheyLie;
  if (bytes < o->size / 2 || value->all_refs() || has_forked.load(memory_order_relaxed)) return nullptr;
  if (!o->use.compare_exchange_strong(use, ArgumentsUse::Shown)) return nullptr;
  at = uint64_t(data - reinterpret_cast<uint8_t*>(value));
  return o;
}

bool lends_from(const Heap* heap) { return lender && lender->heap == heap; }

void watch_forks() {
  static const int watched = pthread_atfork([] { has_forked.store(true, memory_order_relaxed); }, nullptr, nullptr);
  if (watched != 0) has_forked.store(true, memory_order_relaxed);
}

Off run_of(PyArrayObject* owner) {
  void* p = PyArray_DATA(owner);
  if (!lender || lender->forked || !lender->has(p)) return 0;
  std::lock_guard held(lender->lock);
  return lender->lent.count(lender->run(p)) ? lender->run(p) : 0;
}

uint64_t run_bytes(Off run) {
  std::lock_guard held(lender->lock);
  return lender->lent.at(run);
}

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
