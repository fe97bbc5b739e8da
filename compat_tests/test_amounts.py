"""Amounts of resources are counted in 1/10000; what is left over is cut off."""

import importlib

import pytest

from compat_tests.processes import wait_until


@pytest.mark.parametrize("asked, given", [(0.57, 0.5699), (0.29, 0.29), (0.00019, 0.0001), (0.33335, 0.3333), (1.23456, 1.2345), (1.1, 1.1)])
def test_a_task_gets_whole_ten_thousandths(ray, asked, given):
    @ray.remote(num_cpus=0, resources={"lamp": asked})
    def mine():
        return ray.get_runtime_context().get_assigned_resources()

    assert ray.get(mine.remote()) == {"lamp": given}


def test_an_actor_gets_whole_ten_thousandths(ray):
    @ray.remote(num_cpus=0.99999)
    class Mine:
        def tell(self):
            return ray.get_runtime_context().get_assigned_resources()

    assert ray.get(Mine.remote().tell.remote()) == {"CPU": 0.9999}


def test_each_bundle_has_whole_ten_thousandths(ray):
    group = ray.util.placement_group([{"lamp": 0.33335}, {"lamp": 0.33335}])
    try:
        assert group.wait(5)
        assert group.bundle_specs == [{"lamp": 0.33335}] * 2
        wait_until(lambda: round(ray.available_resources()["lamp"], 6) == 1.3334)
        inside = importlib.import_module(f"{ray.__name__}.util.scheduling_strategies").PlacementGroupSchedulingStrategy

        @ray.remote(num_cpus=0, resources={"lamp": 0.33335}, scheduling_strategy=inside(group, 1))
        def mine():
            return ray.get_runtime_context().get_assigned_resources()

        assert ray.get(mine.remote(), timeout=20) == {"lamp": 0.3333}
    finally:
        ray.util.remove_placement_group(group)
        wait_until(lambda: ray.available_resources()["lamp"] == 2)


@pytest.mark.needs_processes
@pytest.mark.parametrize("amount", [1e12, 1e19])
def test_what_no_machine_has_is_waited_for_and_hurts_nobody_else(ray, amount):
    @ray.remote
    def work():
        return "done"

    @ray.remote
    class Actor:
        def work(self):
            return "done"

    huge = [
        work.options(num_cpus=amount).remote(),
        Actor.options(num_cpus=amount).remote().work.remote(),
        ray.util.placement_group([{"CPU": amount}]).ready(),
    ]
    assert ray.get(work.remote()) == ray.get(Actor.remote().work.remote()) == "done"
    assert [huge.index(ref) for ref in ray.wait(huge, timeout=0.5)[0]] == []
