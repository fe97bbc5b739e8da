"""Numbers of resources that were once limits of the runtime."""

from reactor import _core

import rayshim as ray
from rayshim.util import placement_group, remove_placement_group


def test_more_kinds_of_resources_than_a_small_table_has():
    ray.init(num_cpus=1, resources={f"kind{i}": i + 1 for i in range(9000)}, log_to_driver=False)
    try:
        assert ray.cluster_resources()["kind8999"] == 9000

        @ray.remote(num_cpus=0, resources={"kind8999": 9000})
        def last():
            return ray.get_runtime_context().get_assigned_resources()

        assert ray.get(last.remote()) == {"kind8999": 9000}
    finally:
        ray.shutdown()


def test_many_groups_live_at_once_and_their_places_are_used_again():
    ray.init(num_cpus=1, resources={"unit": 10000}, log_to_driver=False)
    try:
        groups = [placement_group([{"unit": 1}] * 22) for _ in range(120)]
        assert all(group.wait(60) for group in groups)
        assert _core.resources()["unit"].free == (10000 - 120 * 22) * _core.UNIT
        for group in groups:
            remove_placement_group(group)
        again = placement_group([{"unit": 10000}])
        assert again.wait(60)
        assert len(_core.resources()) < 120  # of the groups that have ended there are no names
    finally:
        ray.shutdown()


def test_a_distinct_demand_takes_little_shared_memory():
    ray.init(num_cpus=1, resources={"unit": 10**6}, log_to_driver=False)
    try:

        @ray.remote(num_cpus=0)
        def nothing():
            pass

        def run(first, count):
            ray.get([nothing.options(resources={"unit": first + i}).remote() for i in range(count)])

        run(1, 50)
        before = _shared_bytes()
        run(1000, 1000)
        assert _shared_bytes() - before < 1000 * 2000  # a queue with room for 512 tasks alone would take more
    finally:
        ray.shutdown()


def _shared_bytes():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("RssShmem:"))
