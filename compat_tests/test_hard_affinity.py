"""A task or actor for this node alone, which asks for what the node never has."""

from importlib import import_module

import pytest

from compat_tests.processes import wait_until

ASKED = {
    "CPUs": {"num_cpus": 1000}, "GPUs": {"num_gpus": 100}, "an unknown resource": {"resources": {"compat_nowhere": 1}},
    "a label": {"label_selector": {"compat-zone": "b"}},
}


@pytest.fixture
def here(ray):
    strategies = import_module(f"{ray.__name__}.util.scheduling_strategies")
    return lambda soft: strategies.NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=soft)


@pytest.mark.parametrize("asked", ASKED)
def test_it_is_refused(ray, here, asked):
    @ray.remote
    def one():
        return 1

    @ray.remote
    class One:
        def get(self):
            return 1

    with pytest.raises(ray.exceptions.TaskUnschedulableError, match="infeasible"):
        ray.get(one.options(scheduling_strategy=here(False), **ASKED[asked]).remote(), timeout=20)
    with pytest.raises(ray.exceptions.ActorUnschedulableError, match="infeasible"):
        ray.get(One.options(scheduling_strategy=here(False), **ASKED[asked]).remote().get.remote(), timeout=20)


def test_what_the_node_has_is_waited_for(ray, here):
    @ray.remote(num_cpus=4)
    def one():
        return 1

    assert ray.get([one.options(scheduling_strategy=here(False)).remote() for _ in range(3)]) == [1, 1, 1]


@pytest.mark.needs_concurrency
def test_one_for_which_another_node_would_do_waits(ray, here):
    waiting = ray.remote(lambda: 1).options(scheduling_strategy=here(True), num_cpus=1000).remote()
    with pytest.raises(ray.exceptions.GetTimeoutError):
        ray.get(waiting, timeout=1)
    ray.cancel(waiting)


@pytest.mark.needs_concurrency
def test_what_is_to_fail_rather_than_wait_fails(ray):
    strategies = import_module(f"{ray.__name__}.util.scheduling_strategies")
    now = strategies.NodeAffinitySchedulingStrategy(
        ray.get_runtime_context().get_node_id(), soft=False, _fail_on_unavailable=True)

    @ray.remote(scheduling_strategy=now)
    def one():
        return 1

    @ray.remote
    class Holder:
        def get(self):
            return 1

    whole = ray.cluster_resources()["CPU"]
    wait_until(lambda: ray.available_resources().get("CPU") == whole)
    assert ray.get(one.options(num_cpus=whole).remote(), timeout=20) == 1
    wait_until(lambda: ray.available_resources().get("CPU") == whole)
    holder = Holder.options(num_cpus=whole).remote()
    ray.get(holder.get.remote())
    with pytest.raises(ray.exceptions.TaskUnschedulableError, match="infeasible"):
        ray.get(one.remote(), timeout=20)
    with pytest.raises(ray.exceptions.ActorUnschedulableError, match="infeasible"):
        ray.get(Holder.options(num_cpus=1, scheduling_strategy=now).remote().get.remote(), timeout=20)
    ray.kill(holder)
    wait_until(lambda: ray.available_resources().get("CPU") == whole)
    assert ray.get(one.remote(), timeout=20) == 1


def test_the_index_of_a_bundle_may_be_a_float(ray):
    strategies = import_module(f"{ray.__name__}.util.scheduling_strategies")
    group = ray.util.placement_group([{"CPU": 1}, {"CPU": 1}])
    ray.get(group.ready(), timeout=20)
    chosen = strategies.PlacementGroupSchedulingStrategy(group, 1.0)
    assert ray.get(ray.remote(lambda: 1).options(num_cpus=1, scheduling_strategy=chosen).remote(), timeout=20) == 1
    ray.util.remove_placement_group(group)
