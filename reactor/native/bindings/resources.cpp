// Resources, demands for them, and the tasks that wait for these.
#include "bindings.h"
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include "supervise/supervisor.h"

namespace reactor {
namespace {

// What the running task or this actor holds: {name: amount in 1/10000}.
nb::dict held_resources() {
  nb::dict d;
  uint32_t held = ctx->proc->demand.load();
  if (!held) return d;
  const Demand& demand = ctx->header->demand[held - 1];
  for (int i = 0; i < demand.n; ++i) {
    const Part& part = ctx->header->part[demand.first + i];
    d[ctx->header->resource_name[part.index]] = part.amount;
  }
  return d;
}

// Supervisor (and inline driver) only, as all that changes resources and demands. Returns the resource's index.
uint32_t register_resource(const std::string& name, int64_t total, bool lent) {
  Header* h = ctx->header;
  uint32_t n = h->resources.load(), at = n;
  if (name.size() >= sizeof h->resource_name[0]) throw nb::value_error("the name of a resource has 127 bytes at most");
  for (uint32_t i = n; i-- > 0;) {
    if (name == h->resource_name[i]) return i;
    if (!h->resource_name[i][0]) at = i;
  }
  if (at == kMaxResources) throw nb::value_error("too many kinds of resources");
  h->resource_total[at] = total;
  h->resource_free[at].store(total);
  h->resource_lent[at] = lent;
  snprintf(h->resource_name[at], sizeof h->resource_name[at], "%s", name.c_str());
  if (at == n) h->resources.store(n + 1, memory_order_release);
  return at;
}

// More of a resource (or less: a negative amount, which must be free).
void add_resource(uint32_t index, int64_t amount) {
  ctx->header->resource_total[index] += amount;
  ctx->header->resource_free[index].fetch_add(amount, memory_order_acq_rel);
}

// Every demand for it has been retired, and nobody holds any: its place can be used again.
void forget_resource(uint32_t index) {
  Header* h = ctx->header;
  h->resource_name[index][0] = 0;
  h->resource_total[index] = 0;
  h->resource_free[index].store(0);
}

PyTypeObject* resource_type = nullptr;

// Of all resources there are.
nb::dict resources() {
  nb::dict d;
  Header* h = ctx->header;
  for (uint32_t i = 0; i < h->resources.load(memory_order_acquire); ++i)
    if (h->resource_name[i][0]) d[h->resource_name[i]] = named_tuple(resource_type, h->resource_total[i], h->resource_free[i].load());
  return d;
}

// Of one, which there need not be.
nb::object resource(const std::string& name) {
  Header* h = ctx->header;
  for (uint32_t i = 0; !name.empty() && i < h->resources.load(memory_order_acquire); ++i)
    if (name == h->resource_name[i]) return named_tuple(resource_type, h->resource_total[i], h->resource_free[i].load());
  return named_tuple(resource_type, 0, 0);
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

void fail_waiting_tasks(nb::handle reason, int64_t demand, uint32_t setting) {
  Object* r = ref_object(reason.ptr());
  if (!r) throw nb::python_error();
  fail_tasks(r, demand, setting);
}

}  // namespace

uint32_t add_demand(Header* h, const std::vector<Part>& parts, uint32_t setting) {
  if (h->parts + parts.size() > kMaxParts) throw nb::value_error("too many kinds of resources in all demands together");
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
  m.def("held_resources", &held_resources, nb::call_guard<Using>());
  m.def("demand", &demand, nb::arg("parts"), nb::arg("setting") = 0, nb::call_guard<Using>());
  m.def("retire_demand", [](uint32_t d) { ctx->header->demand[d].retired.store(1); }, nb::arg("demand"), nb::call_guard<Using>());
  m.def("take_resources", &take_demand, nb::arg("demand"));
  m.def(
      "give_resources",
      [](uint32_t d) {
        give_resources(ctx->header, d);
        kick_queues();
      },
      nb::arg("demand"), nb::call_guard<Using>());
  m.def("set_actors_waiting", [](uint32_t n) { ctx->header->actors_waiting.store(n); }, nb::arg("count"));
  m.def("task_before", [](uint64_t uid) { return task_before(ctx->heap, uid); }, nb::arg("uid"), nb::call_guard<Using>());
  m.def("fail_tasks", &fail_waiting_tasks, nb::arg("reason"), nb::arg("demand") = -1, nb::arg("setting") = 0);
}

}  // namespace reactor
