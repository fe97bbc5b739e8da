#include "types/types.h"
#include "store/spill.h"
#include <sys/ioctl.h>

namespace reactor {

PyTypeObject* ViewType;

namespace {

// ioctl(PAGEMAP_SCAN) of Linux 6.7, which the headers of today's distributions do not have.
struct PageScan {
  uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, category_inverted, category_mask, category_anyof, return_mask;
};
constexpr unsigned long kPageScan = _IOWR('f', 16, PageScan);
constexpr uint64_t kIsFile = 1 << 2, kIsPresent = 1 << 3, kIsSwapped = 1 << 4;
constexpr uint64_t kScanned = 1 << 20;  // smaller ranges are not worth asking for

// Whether some of these pages of the copy-on-write mapping are copies. If none is, they may stay mapped: they are the heap's.
bool has_copies(uint8_t* data, uint64_t size) {
  if (size < kScanned) return true;
  int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;
  uint64_t found[3];
  PageScan scan{sizeof scan,
                0,
                reinterpret_cast<uint64_t>(data),
                reinterpret_cast<uint64_t>(data) + size,
                0,
                reinterpret_cast<uint64_t>(found),
                1,
                1,
                kIsFile,
                kIsFile,
                kIsPresent | kIsSwapped,
                kIsPresent};
  int regions = ioctl(fd, kPageScan, &scan);
  close(fd);
  return regions != 0;
}

void view_dealloc(PyObject* self) {
  auto* v = reinterpret_cast<PyView*>(self);
  if (ctx && v->epoch == epoch) {
    if (v->writable) {
      const uint64_t size = align_up(v->size, memory_page());
      // Pages that stay copied would show the next value there what was written to this one: that place is not used again.
      if (!has_copies(v->data, size) || madvise(v->data, size, MADV_DONTNEED) == 0) ctx->shadowed.erase(v->data);
    }
    ctx->local.hold_list.retag(v->note, Entry::Hold);
    if (v->pinned) unpin(residence_of(v->heap, v->object));
    drop_noted(ctx->local, v->object, v->note);
  }
  if (v->mapping) v->mapping->drop();
  if (--v->heap->users == 0) delete v->heap;
  free_instance(self);
}

int view_buffer(PyObject* self, Py_buffer* out, int flags) {
  auto* v = reinterpret_cast<PyView*>(self);
  return PyBuffer_FillInfo(out, self, v->data, Py_ssize_t(v->size), v->writable ? 0 : 1, flags);
}

}  // namespace

PyObject* private_view(PyObject* self) {
  auto* v = reinterpret_cast<PyView*>(self);
  Heap* h = v->heap;
  // Copy-on-write works by whole pages that nobody else looks at through the same mapping: those of one large buffer, and one view of it
  // at a time.
  if (ctx && v->epoch == epoch && v->size >= kOwnPages && !v->mapping && h->off(v->data) % memory_page() == 0) {
    for (size_t which = 0; which < Heap::kShadows; ++which) {
      uint8_t* shadow = h->shadow(which);
      if (!shadow) break;
      uint8_t* data = shadow + h->off(v->data);
      if (ctx->shadowed.insert(data).second) return new_view(v->object, data, v->size, nullptr, true);
    }
  }
  return PyByteArray_FromStringAndSize(reinterpret_cast<const char*>(v->data), Py_ssize_t(v->size));
}

namespace {

PyObject* view_private(PyObject* self, PyObject*) { return private_view(self); }

PyMethodDef view_methods[] = {{"private", view_private, METH_NOARGS, "the same bytes, writable, copied page by page when written to"},
                              {nullptr, nullptr, 0, nullptr}};
PyType_Slot view_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(view_dealloc)},
                            {Py_bf_getbuffer, reinterpret_cast<void*>(view_buffer)},
                            {Py_tp_new, reinterpret_cast<void*>(refuse_new)},
                            {Py_tp_methods, view_methods},
                            {0, nullptr}};
PyType_Spec view_spec = {"reactor._core.View", sizeof(PyView), 0, Py_TPFLAGS_DEFAULT, view_slots};

}  // namespace

PyView* bare_view(Object* o, uint8_t* data, uint64_t size) {
  auto* v = reinterpret_cast<PyView*>(ViewType->tp_alloc(ViewType, 0));
  if (!v) return nullptr;
  v->heap = ctx->heap;
  ++v->heap->users;
  v->object = o;
  v->data = data;
  v->size = size;
  v->epoch = epoch;
  return v;
}

PyObject* new_view(Object* o, uint8_t* data, uint64_t size, Mapping* mapping, bool writable) {
  ctx->local.hold_list.reserve();
  PyView* v = bare_view(o, data, size);
  if (!v) return nullptr;
  v->writable = writable;
  v->mapping = mapping;
  v->pinned = !mapping && in_run(o);
  if (mapping) mapping->take();
  v->note = take_noted(ctx->local, o, Entry::SmallView);
  if (v->pinned) {
    pin_again(residence_of(ctx->heap, o));
    ctx->local.hold_list.retag(v->note, Entry::View);
  }
  return reinterpret_cast<PyObject*>(v);
}

bool add_view_type(PyObject* module) { return add_type(module, ViewType, &view_spec); }

}  // namespace reactor
