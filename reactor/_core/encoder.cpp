#define REACTOR_IMPORTS_NUMPY
#include "actor_states.h"
#include "array_memory.h"
#include "recorder.h"
#include "moving.h"
#include "spill.h"

namespace reactor {
namespace {

constexpr int kMaxDepth = 6;
constexpr Py_ssize_t kMaxItems = 4096;
constexpr size_t kKeptStream = 1 << 20;

bool numpy_loaded = false;

thread_local std::vector<std::unique_ptr<Encoder>> encoders;  // freed with the thread; between uses they hold nothing of Python's
thread_local size_t encoders_used = 0, encoders_hidden = 0;

// While the elements of a container are encoded: whether nobody else has them.
struct Within {
  Within(bool& given, PyObject* container) : given(given), outer(given) { given = given && Py_REFCNT(container) == 1; }
  ~Within() { given = outer; }
  bool& given;
  const bool outer;
};

uint64_t alignment(const Py_buffer& b) { return uint64_t(b.len) >= kOwnPages ? memory_page() : kLine; }

}  // namespace

bool load_numpy() {
  if (!numpy_loaded) numpy_loaded = _import_array() >= 0;
  return numpy_loaded;
}

Encoding::Encoding() {
  if (encoders_used == encoders.size()) encoders.emplace_back(new Encoder);
  encoder = encoders[encoders_used++].get();
}
Encoding::~Encoding() {
  encoder->clear();  // may run a destructor that encodes: this one is not free until it is through
  --encoders_used;
}
Encoder* Encoding::current() { return encoders_used > encoders_hidden ? encoders[encoders_used - 1].get() : nullptr; }
Encoding::Hidden::Hidden() : outer_(std::exchange(encoders_hidden, encoders_used)) {}
Encoding::Hidden::~Hidden() { encoders_hidden = outer_; }

void Encoder::clear() {
  if (own_size_ > kKeptStream) {
    own_.reset();
    own_size_ = 0;
  }
  begin_ = p_ = own_.get();
  end_ = begin_ + own_size_;
  place_ = nullptr;
  misplaced_ = false;
  pickled_ = 0;
  items_ = 0;
  given_ = false;
  owner_ = nullptr;
  for (auto& b : buffers_) PyBuffer_Release(&b);
  buffers_.clear();
  shown_in_ = nullptr;
  deps_.clear();
  refs_.clear();
  for (auto* o : owners_) Py_DECREF(o);
  owners_.clear();
  seen_.clear();
}

bool Encoder::grow(size_t n) {
  if (place_) {
    misplaced_ = true;
    return false;
  }
  size_t used = stream(), size = own_size_ * 2 > used + n ? own_size_ * 2 : used + n + 256;
  std::unique_ptr<uint8_t[]> larger(new uint8_t[size]);
  if (used) memcpy(larger.get(), begin_, used);
  own_ = std::move(larger);
  own_size_ = size;
  begin_ = own_.get();
  p_ = begin_ + used;
  end_ = begin_ + size;
  return true;
}

void Encoder::place(uint8_t* to, uint64_t room, uint32_t deps) {
  uint64_t head = sizeof(ValueHeader) + 8 * uint64_t(deps);
  place_ = to;
  place_deps_ = deps;
  misplaced_ = room < head;
  begin_ = p_ = misplaced_ ? to : to + head;
  end_ = misplaced_ ? to : to + room;
}

uint64_t Encoder::placed() {
  if (misplaced_ || !plain() || deps_.size() != place_deps_) {
    clear();
    return 0;
  }
  auto* h = reinterpret_cast<ValueHeader*>(place_);
  *h = {uint32_t(stream()), place_deps_, 0, 0};
  Off* refs = value_refs(h);
  for (Off off : deps_) {
    *refs++ = off;
    take_hold(ctx->heap->at<Object>(off));
  }
  ctx->values_written += items_;
  return uint64_t(p_ - place_);
}

uint32_t Encoder::add_ref(Object* o, PyObject* owner) {
  refs_.push_back(ctx->heap->off(o));
  owners_.push_back(Py_NewRef(owner));
  return uint32_t(refs_.size() - 1);
}

bool Encoder::item(PyObject* o) {
  ++items_;
  seen_.clear();
  size_t begin = stream(), buffers = buffers_.size(), refs = refs_.size();
  if (encode(o, 0)) return true;
  if (place_) {
    PyErr_Clear();  // met again, and raised, when it is encoded the ordinary way
    misplaced_ = true;
    return false;
  }
  if (PyErr_Occurred()) return false;
  // Not a common type all through: the whole item travels pickled, so that shared identity inside it is kept.
  p_ = begin_ + begin;
  while (buffers_.size() > buffers) {
    PyBuffer_Release(&buffers_.back());
    buffers_.pop_back();
  }
  refs_.resize(refs);
  owner_ = nullptr;
  shown_in_ = nullptr;
  return pickled(o);
}

bool Encoder::given(PyObject* o) {
  given_ = true;
  bool ok = item(o);
  given_ = false;
  return ok;
}

bool Encoder::argument(PyObject* o) {
  if (!is_ref(o)) return item(o);
  Object* target = ref_object(o);
  if (!target) return false;
  put<uint8_t>(Dep);
  put<uint32_t>(uint32_t(deps_.size()));
  deps_.push_back(ctx->heap->off(target));
  owners_.push_back(Py_NewRef(o));
  return true;
}

bool Encoder::name(PyObject* s) { return encode(s, 0); }

bool Encoder::seen(PyObject* o) {
  if (Py_REFCNT(o) == 1) return false;  // only one place can lead here
  for (auto* s : seen_)
    if (s == o) return true;
  if (seen_.size() >= 256) return true;
  seen_.push_back(o);
  return false;
}

bool Encoder::encode(PyObject* o, int depth) {
  if (o == Py_None) return put<uint8_t>(None), true;
  if (o == Py_True) return put<uint8_t>(True_), true;
  if (o == Py_False) return put<uint8_t>(False_), true;
  PyTypeObject* t = Py_TYPE(o);
  if (t == &PyLong_Type) {
    int overflow = 0;
    long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (overflow) return false;
    put<uint8_t>(Int);
    put<int64_t>(v);
    return true;
  }
  if (t == &PyFloat_Type) {
    put<uint8_t>(Float);
    put<double>(PyFloat_AS_DOUBLE(o));
    return true;
  }
  if (t == &PyUnicode_Type) {
    Py_ssize_t n;
    const char* s = PyUnicode_AsUTF8AndSize(o, &n);
    if (!s) {
      PyErr_Clear();  // lone surrogates: pickle can
      return false;
    }
    if (n > INT32_MAX || (size_t(n) >= kShared && seen(o))) return false;
    put<uint8_t>(Str);
    put<uint32_t>(uint32_t(n));
    raw(s, size_t(n));
    return true;
  }
  if (t == &PyBytes_Type) {
    Py_ssize_t n = PyBytes_GET_SIZE(o);
    if (size_t(n) >= kShared && seen(o)) return false;
    if (size_t(n) >= kBuffered) {
      put<uint8_t>(BigBytes);
      return buffer(o);
    }
    put<uint8_t>(Bytes);
    put<uint32_t>(uint32_t(n));
    raw(PyBytes_AS_STRING(o), size_t(n));
    return true;
  }
  if (depth >= kMaxDepth) return false;
  if (t == &PyTuple_Type) {
    Py_ssize_t n = PyTuple_GET_SIZE(o);
    if (n > kMaxItems || (n && seen(o))) return false;
    Within elements(given_, o);
    put<uint8_t>(Tuple);
    put<uint32_t>(uint32_t(n));
    for (Py_ssize_t i = 0; i < n; ++i)
      if (!encode(PyTuple_GET_ITEM(o, i), depth + 1)) return false;
    return true;
  }
  if (t == &PyList_Type) {
    Py_ssize_t n = PyList_GET_SIZE(o);
    if (n > kMaxItems || seen(o)) return false;
    Within elements(given_, o);
    put<uint8_t>(List);
    put<uint32_t>(uint32_t(n));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(o); ++i)
      if (!encode(PyList_GET_ITEM(o, i), depth + 1)) return false;
    return PyList_GET_SIZE(o) == n;
  }
  if (t == &PyDict_Type) {
    Py_ssize_t n = PyDict_GET_SIZE(o);
    if (n > kMaxItems || seen(o)) return false;
    Within elements(given_, o);
    put<uint8_t>(Dict);
    put<uint32_t>(uint32_t(n));
    Py_ssize_t at = 0;
    PyObject *k, *v;
    while (PyDict_Next(o, &at, &k, &v))
      if (!encode(k, depth + 1) || !encode(v, depth + 1)) return false;
    return true;
  }
  if (is_ref(o)) {
    Object* target = ref_object(o);
    if (!target) return false;
    put<uint8_t>(Ref);
    put<uint32_t>(add_ref(target, o));
    return true;
  }
  if (is_numpy(o)) return load_numpy() && array(o);
  return false;
}

bool Encoder::array(PyObject* o) {
  if (PyArray_CheckExact(o)) {
    auto* a = reinterpret_cast<PyArrayObject*>(o);
    PyArray_Descr* d = PyArray_DESCR(a);
    if (d->type_num > NPY_CLONGDOUBLE && d->type_num != NPY_HALF) return false;  // strings, objects, dates, records
    if (d->type_num == NPY_OBJECT || PyDataType_ISBYTESWAPPED(d) || seen(o)) return false;
    PyArrayObject* c = a;
    bool fortran = PyArray_IS_F_CONTIGUOUS(a) && !PyArray_IS_C_CONTIGUOUS(a);
    if (!fortran && !PyArray_IS_C_CONTIGUOUS(a)) {
      if (place_) return false;  // the copy gives up the GIL, and another thread would take the same place
      c = reinterpret_cast<PyArrayObject*>(PyArray_NewCopy(a, NPY_CORDER));
      if (!c) return false;
      owners_.push_back(reinterpret_cast<PyObject*>(c));
    }
    size_t bytes = size_t(PyArray_NBYTES(c));
    bool inside = bytes <= kInStream;
    put<uint8_t>(inside ? SmallArray : Array);
    put<uint8_t>(uint8_t(d->type_num));
    put<uint8_t>(uint8_t(PyArray_NDIM(c)));
    put<uint8_t>(fortran);
    for (int i = 0; i < PyArray_NDIM(c); ++i) put<int64_t>(PyArray_DIM(c, i));
    if (inside) {
      raw(PyArray_DATA(c), bytes);
      return true;
    }
    if (given_ && bytes >= kLeastArray) {
      owner_ = sole_owner(c);
      if (!shown_in_ && (shown_in_ = arguments_under(c, shown_at_))) shown_ = buffers_.size();
    }
    Py_buffer b{};
    b.buf = PyArray_DATA(c);
    b.len = Py_ssize_t(bytes);
    put<uint32_t>(uint32_t(buffers_.size()));
    buffers_.push_back(b);
    owners_.push_back(Py_NewRef(o));
    return true;
  }
  if (PyArray_IsScalar(o, Number) || PyArray_IsScalar(o, Bool)) {
    PyArray_Descr* d = PyArray_DescrFromScalar(o);
    if (!d) return false;
    int type = d->type_num;
    Py_DECREF(d);
    if (type > NPY_CLONGDOUBLE && type != NPY_HALF) return false;
    alignas(16) uint8_t data[32];
    PyArray_ScalarAsCtype(o, data);
    PyArray_Descr* full = PyArray_DescrFromType(type);
    put<uint8_t>(Scalar);
    put<uint8_t>(uint8_t(type));
    raw(data, size_t(PyDataType_ELSIZE(full)));
    Py_DECREF(full);
    return true;
  }
  return false;
}

// A bytes object as an out-of-band buffer; its number goes into the stream.
bool Encoder::buffer(PyObject* bytes) {
  Py_buffer b;
  if (PyObject_GetBuffer(bytes, &b, PyBUF_SIMPLE) != 0) return false;
  put<uint32_t>(uint32_t(buffers_.size()));
  buffers_.push_back(b);
  return true;
}

bool Encoder::pickled(PyObject* o) {
  if (ctx && ctx->inline_mode) enter_own_state();
  Owned dumped = hooks.dumps(o);
  if (!dumped) return false;
  PyObject* data = PyTuple_GET_ITEM(dumped.get(), 0);
  PyObject* list = PyTuple_GET_ITEM(dumped.get(), 1);
  Py_ssize_t n = PyList_GET_SIZE(list);
  Py_ssize_t size = PyBytes_GET_SIZE(data);
  bool big = size_t(size) >= kBuffered;
  put<uint8_t>(big ? BigPickle : Pickle);
  put<uint32_t>(uint32_t(n));
  put<uint32_t>(uint32_t(buffers_.size()));
  for (Py_ssize_t i = 0; i < n; ++i) {
    Py_buffer b;
    if (PyObject_GetBuffer(PyList_GET_ITEM(list, i), &b, PyBUF_ANY_CONTIGUOUS) != 0) return false;
    buffers_.push_back(b);
    pickled_ += uint64_t(b.len);
  }
  pickled_ += uint64_t(size);
  if (big) return buffer(data);
  put<uint64_t>(uint64_t(size));
  raw(PyBytes_AS_STRING(data), size_t(size));
  return true;
}

std::string Encoder::layout(uint32_t items) const { return layout_of(begin_, p_, items); }

uint64_t Encoder::size() const {
  uint64_t n = sizeof(ValueHeader) + 8 * (deps_.size() + refs_.size() + (shown_in_ != nullptr)) + sizeof(BufferEntry) * buffers_.size() + stream();
  for (size_t i = 0; i < buffers_.size(); ++i) {
    if (is_shown(i)) continue;
    uint64_t a = alignment(buffers_[i]);
    n = align_up(align_up(n, a) + uint64_t(buffers_[i].len), a);
  }
  return n;
}

void Encoder::write_head(uint8_t* to) {
  ctx->values_written += items_;
  auto* h = reinterpret_cast<ValueHeader*>(to);
  h->stream = uint32_t(stream());
  h->deps = uint32_t(deps_.size());
  h->refs = uint32_t(refs_.size()) + (shown_in_ != nullptr);
  h->buffers = uint32_t(buffers_.size());
  Off* refs = value_refs(h);
  for (Off off : deps_) *refs++ = off;
  for (Off off : refs_) *refs++ = off;
  if (shown_in_) *refs = ctx->heap->off(shown_in_);
  if (stream()) memcpy(value_stream(h), begin_, stream());
}

void Encoder::take_holds() {
  for (Off off : deps_) take_hold(ctx->heap->at<Object>(off));
  for (Off off : refs_) take_hold(ctx->heap->at<Object>(off));
  if (shown_in_) take_hold(shown_in_);
}

bool Encoder::is(ValueHeader* v) const {
  if (v->stream != stream() || v->deps || v->refs || !deps_.empty() || !refs_.empty() || v->buffers != buffers_.size()) return false;
  if (memcmp(value_stream(v), begin_, stream()) != 0) return false;
  const BufferEntry* entry = value_buffers(v);
  for (auto& b : buffers_)
    if (entry++->size != uint64_t(b.len)) return false;
  entry = value_buffers(v);
  for (auto& b : buffers_)
    if (memcmp(reinterpret_cast<uint8_t*>(v) + entry++->at, b.buf, size_t(b.len)) != 0) return false;
  return true;
}

Off Encoder::write_before_array() {
  if (!owner_ || buffers_.size() != 1) return 0;
  auto* data = static_cast<uint8_t*>(buffers_[0].buf);
  auto bytes = uint64_t(buffers_[0].len);
  Off run = run_of(owner_);
  if (!run) return expect_arrays_like(owner_), 0;
  uint64_t head = size() - align_up(bytes, alignment(buffers_[0])), all = run_bytes(run);
  auto* to = ctx->heap->at<uint8_t>(run);
  if (data < to + kArrayHead || data + bytes > to + all || uint64_t(data - to) % memory_page()) return 0;
  if (head > kArrayHead || bytes < all / 2 || !fits(ctx->header, int64_t(all))) return 0;
  write_head(to);
  *value_buffers(reinterpret_cast<ValueHeader*>(to)) = {uint64_t(data - to), bytes};
  give_run_away(owner_);
  return run;
}

bool Encoder::write(uint8_t* to) {
  write_head(to);
  auto* h = reinterpret_cast<ValueHeader*>(to);
  uint64_t at = uint64_t(value_stream(h) - to) + stream();
  BufferEntry* entry = value_buffers(h);
  uint64_t total = 0;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const Py_buffer& b = buffers_[i];
    if (is_shown(i)) {
      *entry++ = {BufferEntry::kShownBuffer | shown_at_, uint64_t(b.len)};
      continue;
    }
    uint64_t a = alignment(b);
    at = align_up(at, a);
    *entry++ = {at, uint64_t(b.len)};
    at = align_up(at + uint64_t(b.len), a);
    total += uint64_t(b.len);
  }
  entry = value_buffers(h);
  auto copy = [&] {
    for (size_t i = 0; i < buffers_.size(); ++i)
      if (!is_shown(i)) memcpy(to + entry[i].at, buffers_[i].buf, size_t(buffers_[i].len));
  };
  uint64_t started = ctx->tracing && total >= kOwnPages ? now_ns() : 0;
  if (total < (1 << 20)) {
    copy();
  } else {
    Unlocked unlocked;
    copy();
    if (!unlocked.lock()) return false;
  }
  ctx->trace(started, Span::Copy, ctx->running_actor, total);
  return true;
}

namespace {

// The encoded value is in the object: in its body, or in a block that becomes its own. `written`: by it, whose refs are held from now on; that comes
// last, because the size tells the supervisor that they are. `away`: in the spill file.
void attach(Object* o, Off block, uint64_t n, uint32_t note, Encoder* written = nullptr, bool away = false) {
  if (block) {
    ctx->local.alloc.publish(block);
    ctx->local.alloc.count_value(block, 1);
    if (n > kSlabMax) {
      uint32_t page = ctx->heap->page_of(block);
      if (away) drop_memory(ctx->heap, page, ctx->heap->page_run[page].load(memory_order_relaxed));
      settle(ctx->heap, &ctx->heap->residence[page], away);
    }
    o->block = block;
    ctx->local.journal.clear(note);
  }
  if (written) written->take_holds();
  o->size = n;
}

}  // namespace

bool place_into(PyObject* value, Object* o, uint32_t room) {
  Off block = 0;
  uint32_t note = kNoEntry;
  if (room > sizeof o->body) {
    Header* h = ctx->header;
    if (h->store_used.load(memory_order_relaxed) + int64_t(Allocator::block_bytes(room)) > h->store_limit) return false;
    block = ctx->local.alloc.alloc(room);
    if (!block) return false;
    note = ctx->local.journal.add(block, Entry::Block);
  }
  Encoding e;
  e->place(block ? ctx->heap->at<uint8_t>(block) : o->body, block ? room : sizeof o->body, 0);
  e->item(value);
  uint64_t n = e->placed();
  // A small value in a large block would take the store's room for as long as it is kept.
  if (!n || (block && (n <= sizeof o->body || Allocator::block_bytes(n) < Allocator::block_bytes(room)))) {
    ctx->local.journal.clear(note);
    if (block) ctx->local.alloc.free(block);
    return false;
  }
  ctx->proc->count_bytes(n, 0);
  attach(o, block, n, note);
  return true;
}

bool encode_into(Encoder& e, Object* o, bool wide) {
  uint64_t n = e.size();
  if (wide && ctx->logical)
    for (Off off : e.refs())
      if (auto* r = ctx->heap->at<Object>(off); kind_of(r) == kActorObject) give_handle(r, true);
  ctx->proc->count_bytes(n, e.pickled_bytes());
  if (n <= sizeof o->body) {
    if (!e.write(o->body)) return false;
    attach(o, 0, n, kNoEntry, &e);
    return true;
  }
  if (Off run = e.write_before_array()) {
    attach(o, run, n, ctx->local.journal.add(run, Entry::Block), &e);
    return true;
  }
  Room room = room_for_value(n);
  if (!room.block) return false;
  uint32_t note = ctx->local.journal.add(room.block, Entry::Block);
  if (!e.write(room.at)) return false;
  written(room);
  attach(o, room.block, n, note, &e, room.file != nullptr);
  return true;
}

}  // namespace reactor
