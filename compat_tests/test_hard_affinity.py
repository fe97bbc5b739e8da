"""A task or actor for this node alone, which asks for what the node never has."""

from importlib import import_module

import pytest

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
