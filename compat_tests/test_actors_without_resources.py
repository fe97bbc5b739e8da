"""Which wishes for a node hold for an actor that needs no resources at all, and labels that are not text."""

import importlib

import pytest


@pytest.fixture
def strategies(ray):
    return importlib.import_module(f"{ray.__name__}.util.scheduling_strategies")


@pytest.fixture
def actor(ray):
    @ray.remote
    class Actor:
        def ping(self):
            return "here"

    return Actor


def _elsewhere(strategies):
    return {"scheduling_strategy": strategies.NodeLabelSchedulingStrategy({"region": strategies.In("nowhere")})}


def test_a_label_strategy_does_not_hold_for_it(ray, strategies, actor):
    assert ray.get(actor.options(num_cpus=0, **_elsewhere(strategies)).remote().ping.remote(), timeout=60) == "here"


@pytest.mark.needs_concurrency
@pytest.mark.parametrize("needs", [{}, {"num_cpus": 1}, {"num_cpus": 0, "memory": 100}, {"num_gpus": 0}])
def test_it_holds_for_one_with_resources(ray, strategies, actor, needs):
    waiting = actor.options(**needs, **_elsewhere(strategies)).remote()
    call = waiting.ping.remote()
    assert ray.wait([call], timeout=1) == ([], [call])
    ray.kill(waiting)


@pytest.mark.needs_concurrency
def test_it_holds_for_a_task(ray, strategies):
    waiting = ray.remote(lambda: 1).options(num_cpus=0, **_elsewhere(strategies)).remote()
    assert ray.wait([waiting], timeout=1) == ([], [waiting])
    ray.cancel(waiting)


@pytest.mark.needs_concurrency
def test_a_label_selector_holds_for_it(ray, actor):
    waiting = actor.options(num_cpus=0, label_selector={"region": "nowhere"}).remote()
    call = waiting.ping.remote()
    assert ray.wait([call], timeout=1) == ([], [call])
    ray.kill(waiting)


def test_an_affinity_holds_for_it(ray, strategies, actor):
    strategy = strategies.NodeAffinitySchedulingStrategy("ab" * 28, soft=False)
    with pytest.raises(ray.exceptions.ActorUnschedulableError):
        ray.get(actor.options(num_cpus=0, scheduling_strategy=strategy).remote().ping.remote(), timeout=60)


def test_a_label_that_is_none_is_refused_by_the_call(ray, actor):
    with pytest.raises(ValueError, match="Label selector value must be string, but got <class 'NoneType'>"):
        ray.remote(lambda: 1).options(label_selector={"region": None}).remote()
    with pytest.raises(ValueError, match="Label selector value must be string, but got <class 'NoneType'>"):
        actor.options(label_selector={"region": None}).remote()


def test_the_index_of_a_bundle_is_checked(ray):
    check = importlib.import_module(f"{ray.__name__}.util.placement_group").check_placement_group_index
    with pytest.raises(AssertionError):
        check(None, 0)
    group = ray.util.placement_group([{"CPU": 1}])
    for index in (-1, 0):
        assert check(group, index) is None
    for index in (-2, 1):
        with pytest.raises(ValueError, match=f"placement group bundle index {index} is invalid"):
            check(group, index)
    with pytest.raises(TypeError, match="'>=' not supported"):
        check(group, "0")
    ray.util.remove_placement_group(group)
