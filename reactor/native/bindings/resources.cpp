// Resources, demands for them, and the tasks that wait for these.
#include "bindings.h"
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include "supervise/supervisor.h"

namespace reactor {
namespace {

// The name and the amounts of a resource as they were at one moment; false: the entry is free.
bool read_resource(uint32_t at, std::string& name, int64_t& total, int64_t& free) {
  Heap* h = ctx->heap;
  Resource& r = ctx->header->resource[at];
  while (true) {
    const uint32_t version = r.version.load(memory_order_acquire);
    const Off off = r.name.load(memory_order_relaxed);
    total = r.total.load(memory_order_relaxed);
    free = r.free.load(memory_order_relaxed);
    name.clear();
    if (off) {
      auto* text = h->at<ResourceName>(off);
      const uint32_t size = text->size.load(memory_order_relaxed);
      for (uint32_t i = 0; i < size && off + sizeof(ResourceName) + i < h->capacity; ++i) name += text->text[i].load(memory_order_relaxed);
    }
    std::atomic_thread_fence(memory_order_acquire);
    if (!(version & 1) && version == r.version.load(memory_order_relaxed)) return off != 0;
  }
}

// What the running task or this actor holds: {name: amount in 1/10000}.
nb::dict held_resources() {
  nb::dict d;
  uint32_t held = ctx->proc->demand.load();
  if (!held) return d;
  const Demand& demand = ctx->header->demand[held - 1];
  std::string name;
  int64_t total, free;
  for (int i = 0; i < demand.n; ++i) {
    const Part& part = ctx->header->part[demand.first + i];
    if (read_resource(part.index, name, total, free)) d[nb::str(name.data(), name.size())] = part.amount;
  }
  return d;
}

// Gives an entry to the resource of this name, or to none.
void set_resource(uint32_t at, const std::string* name, int64_t total, bool lent) {
  Resource& r = ctx->header->resource[at];
  Off off = 0;
  if (name) {
    off = ctx->local.alloc.alloc_record(sizeof(ResourceName) + name->size());
    auto* text = ctx->heap->at<ResourceName>(off);
    text->size.store(uint32_t(name->size()), memory_order_relaxed);
    for (size_t i = 0; i < name->size(); ++i) text->text[i].store((*name)[i], memory_order_relaxed);
    ctx->local.alloc.publish(off, kPlain);
  }
  const uint32_t version = r.version.load(memory_order_relaxed);
  r.version.store(version + 1, memory_order_relaxed);
  std::atomic_thread_fence(memory_order_release);  // who sees one of the following sees that it changes
  const Off before = r.name.exchange(off, memory_order_relaxed);
  r.total.store(total, memory_order_relaxed);
  r.free.store(total, memory_order_relaxed);
  r.lent.store(lent, memory_order_relaxed);
  r.version.store(version + 2, memory_order_release);
  if (before) ctx->local.alloc.free(before);
}

// Supervisor (and inline driver) only, as all that changes resources and demands. Returns the resource's index.
uint32_t register_resource(const std::string& name, int64_t total, bool lent) {
  Header* h = ctx->header;
  auto& places = ctx->resources.by_name;
  std::string known;
  for (int64_t its, free; ctx->resources.known < h->resources.load(memory_order_relaxed);
       ++ctx->resources.known)  // the driver's, at the start
    if (read_resource(ctx->resources.known, known, its, free)) places.emplace(known, ctx->resources.known);
  if (auto found = places.find(name); found != places.end()) return found->second;
  auto& free = ctx->resources.free;
  const uint32_t n = ctx->resources.known, at = free.empty() ? n : free.back();
  if (at == kMaxResources)
    throw nb::value_error(("this session has " + std::to_string(kMaxResources) +
                           " kinds of resources, the names in its reservations included, the most that are possible. End reservations")
                              .c_str());
  set_resource(at, &name, total, lent);
  places.emplace(name, at);
  if (at != n) {
    free.pop_back();
    return at;
  }
  ctx->resources.known = n + 1;
  h->resources.store(n + 1, memory_order_release);
  return at;
}

// More of a resource (or less: a negative amount, which must be free).
void add_resource(uint32_t index, int64_t amount) {
  Resource& r = ctx->header->resource[index];
  r.total.fetch_add(amount, memory_order_relaxed);
  r.free.fetch_add(amount, memory_order_acq_rel);
}

// Every demand for it has been retired, and nobody holds any: its place can be used again.
void forget_resource(uint32_t index) {
  std::string name;
  int64_t total, free;
  if (!read_resource(index, name, total, free)) return;
  set_resource(index, nullptr, 0, false);
  ctx->resources.by_name.erase(name);
  ctx->resources.free.push_back(index);
}

PyTypeObject* resource_type = nullptr;

// Of all resources there are.
nb::dict resources() {
  nb::dict d;
  std::string name;
  int64_t total, free;
  for (uint32_t i = 0; i < ctx->header->resources.load(memory_order_acquire); ++i)
    if (read_resource(i, name, total, free)) d[nb::str(name.data(), name.size())] = named_tuple(resource_type, total, free);
  return d;
}

// Of one, which there need not be.
nb::object resource(const std::string& name) {
  std::string found;
  int64_t total, free;
  for (uint32_t i = 0; !name.empty() && i < ctx->header->resources.load(memory_order_acquire); ++i)
    if (read_resource(i, found, total, free) && name == found) return named_tuple(resource_type, total, free);
  return named_tuple(resource_type, 0, 0);
}

// Of the one at a place, for the process that registered it.
nb::object resource_at(uint32_t index) {
  const Resource& r = ctx->header->resource[index];
  return named_tuple(resource_type, r.total.load(memory_order_relaxed), r.free.load(memory_order_acquire));
}

// Number of a new demand {resource index: amount}.
uint32_t demand(const std::vector<std::tuple<int32_t, int64_t>>& parts, uint32_t setting) {
  std::vector<Part> all;
  all.reserve(parts.size());
  for (auto [index, amount] : parts) all.push_back({amount, index});
  return add_demand(ctx->header, all, setting);
}

bool take_demand(uint32_t d) {
  bool disturbed = false;
  bool taken = take_resources(ctx->header, d, &disturbed);
  if (disturbed) kick_queues();
  return taken;
}

// What the caller looks at next it sees as it is after this, or the others see this: take_resources() and kick_pool() look at `retired` after what they do.
void retire_demand(uint32_t d) {
  ctx->header->demand[d].retired.store(1, memory_order_seq_cst);
  std::atomic_thread_fence(memory_order_seq_cst);
}

// Likewise, see give_resources().
void set_actors_waiting(uint32_t n) {
  ctx->header->actors_waiting.store(n, memory_order_seq_cst);
  std::atomic_thread_fence(memory_order_seq_cst);
}

void fail_waiting_tasks(nb::handle reason, int64_t demand, uint32_t setting) {
  Object* r = ref_object(reason.ptr());
  if (!r) throw nb::python_error();
  fail_tasks(r, demand, setting);
}

}  // namespace

uint32_t add_demand(Header* h, const std::vector<Part>& parts, uint32_t setting) {
  if (parts.size() > kMaxParts - h->parts) throw nb::value_error("too many kinds of resources in all demands together");
  uint32_t n = h->demands.load();
  if (n == kMaxDemands)
    throw nb::value_error(
        ("this session has had " + std::to_string(kMaxDemands) +
         " different demands for resources (other amounts, another reservation or other settings of the workers), the most that are "
         "possible. Ask for the same amounts again, or start a new session")
            .c_str());
  Demand& d = h->demand[n];
  d.n = int32_t(parts.size());
  d.setting = setting;
  if (setting > h->settings.load()) h->settings.store(setting);
  d.first = h->parts;
  for (const Part& part : parts) h->part[h->parts++] = part;
  h->demands.store(n + 1, memory_order_release);
  return n;
}

void bind_resources(nb::module_& m) {
  m.def("register_resource", &register_resource, nb::arg("name"), nb::arg("total"), nb::arg("lent") = false, nb::call_guard<Using>());
  m.def(
      "add_resource",
      [](uint32_t i, int64_t n) {
        add_resource(i, n);
        kick_queues();
      },
      nb::arg("index"), nb::arg("amount"), nb::call_guard<Using>());
  m.def("forget_resource", &forget_resource, nb::arg("index"), nb::call_guard<Using>());
  resource_type = add_named_tuple(m, "reactor._core.Resource", "how much there is of a resource (in 1/UNIT)",
                                  {{"total", "in all"}, {"free", "that nobody uses"}});
  m.def("resources", &resources, nb::call_guard<Using>());
  m.def("resource", &resource, nb::arg("name"), nb::call_guard<Using>());
  m.def("resource_at", &resource_at, nb::arg("index"), nb::call_guard<Using>());
  m.def("held_resources", &held_resources, nb::call_guard<Using>());
  m.def("demand", &demand, nb::arg("parts"), nb::arg("setting") = 0, nb::call_guard<Using>());
  m.def("retire_demand", &retire_demand, nb::arg("demand"), nb::call_guard<Using>());
  m.def("take_resources", &take_demand, nb::arg("demand"));
  m.def(
      "give_resources",
      [](uint32_t d) {
        give_resources(ctx->header, d);
        kick_queues();
      },
      nb::arg("demand"), nb::call_guard<Using>());
  m.def("set_actors_waiting", &set_actors_waiting, nb::arg("count"));
  m.def(
      "task_before", [](uint64_t actor) { return task_before(ctx->heap, ctx->heap->at<Object>(actor)); }, nb::arg("actor"),
      nb::call_guard<Using>());
  m.def("fail_tasks", &fail_waiting_tasks, nb::arg("reason"), nb::arg("demand") = -1, nb::arg("setting") = 0);
}

}  // namespace reactor
