"""Options of a class or function and those of `.options()` are checked together."""

import pytest


@pytest.fixture
def strategies(ray):
    import importlib

    return importlib.import_module(f"{ray.__name__}.util.scheduling_strategies")


def test_a_name_of_the_class_suffices_for_get_if_exists(ray):
    @ray.remote(name="only one")
    class Named:
        def ping(self):
            return "pong"

    first, second = (Named.options(get_if_exists=True).remote() for _ in range(2))
    assert first == second and ray.get(second.ping.remote()) == "pong"


def test_get_if_exists_without_any_name_is_refused(ray):
    @ray.remote
    class Nameless:
        pass

    with pytest.raises(ValueError, match="The actor name must be specified to use `get_if_exists`"):
        Nameless.options(get_if_exists=True)


@pytest.mark.parametrize("strategy", ["DEFAULT", "SPREAD"])
def test_a_placement_group_and_a_strategy_exclude_each_other(ray, strategy):
    group = ray.util.placement_group([{"CPU": 1}])

    @ray.remote(placement_group=group)
    def task():
        pass

    @ray.remote(placement_group=group)
    class Member:
        pass

    try:
        for given in (task, Member):
            with pytest.raises(ValueError, match="should be specified via the scheduling_strategy option"):
                given.options(scheduling_strategy=strategy)
    finally:
        ray.util.remove_placement_group(group)


def test_an_actor_that_needs_a_cpu_to_begin_needs_a_bundle_with_one(ray, strategies):
    @ray.remote
    class Member:
        def ping(self):
            return "pong"

    group = ray.util.placement_group([{"GPU": 1}])
    inside = strategies.PlacementGroupSchedulingStrategy(group)
    try:
        with pytest.raises(ValueError, match="the actor requires 1 CPU for creation.*Consider creating a placement group with CPU"):
            Member.options(scheduling_strategy=inside).remote()
        assert ray.get(Member.options(scheduling_strategy=inside, num_cpus=0).remote().ping.remote()) == "pong"
    finally:
        ray.util.remove_placement_group(group)
