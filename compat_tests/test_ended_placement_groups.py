"""What is told of tasks and actors whose placement group was removed."""

import importlib

import pytest

from compat_tests.dying import death
from compat_tests.processes import wait_until


@pytest.fixture
def group(ray):
    """A group of one CPU, and the strategy that places into it."""
    strategies = importlib.import_module(f"{ray.__name__}.util.scheduling_strategies")
    group = ray.util.placement_group([{"CPU": 1}])
    ray.get(group.ready())
    yield group, strategies.PlacementGroupSchedulingStrategy(group)
    ray.util.remove_placement_group(group)


def test_an_actor_in_a_removed_group_has_died_of_that(ray, group):
    @ray.remote
    class Member:
        def ping(self):
            return "pong"

    member = Member.options(scheduling_strategy=group[1]).remote()
    assert ray.get(member.ping.remote()) == "pong"
    ray.util.remove_placement_group(group[0])
    error = death(ray, member.ping.remote)
    assert type(error) is ray.exceptions.ActorDiedError
    assert f"since its placement group was removed. Placement group id: {group[0].id.hex()}" in str(error)


@pytest.mark.needs_concurrency
@pytest.mark.parametrize("streams", [False, True])
def test_a_running_task_without_retries_has_crashed(ray, group, gate, streams):
    def busy():
        gate.enter()

    def values():
        gate.enter()
        yield 1

    ref = ray.remote(values if streams else busy).options(scheduling_strategy=group[1], max_retries=0).remote()
    wait_until(lambda: gate.inside() == 1)
    ray.util.remove_placement_group(group[0])
    with pytest.raises(ray.exceptions.WorkerCrashedError, match="The worker died unexpectedly while executing this task"):
        ray.get(next(ref) if streams else ref)


@pytest.mark.needs_concurrency
def test_a_task_and_an_actor_that_wait_in_the_group_are_refused(ray, group, gate):
    @ray.remote
    def busy():
        gate.enter()

    @ray.remote
    def one():
        return 1

    @ray.remote(num_cpus=1)
    class Member:
        def ping(self):
            return "pong"

    running = busy.options(scheduling_strategy=group[1]).remote()
    wait_until(lambda: gate.inside() == 1)
    task = one.options(scheduling_strategy=group[1]).remote()
    call = Member.options(scheduling_strategy=group[1]).remote().ping.remote()
    ray.wait([task, call], timeout=0.2)
    ray.util.remove_placement_group(group[0])
    with pytest.raises(ray.exceptions.TaskPlacementGroupRemoved, match="^The placement group corresponding to this task has been removed.$"):
        ray.get(task)
    with pytest.raises(ray.exceptions.ActorUnschedulableError, match="Could not create the actor because its associated placement group was removed"):
        ray.get(call)
    del running


@pytest.mark.rayshim_only
@pytest.mark.parametrize("options", [{}, {"num_returns": 2}, {"retry_exceptions": True}])
def test_a_task_for_a_removed_group_is_refused_and_has_not_failed(ray, group, options):
    @ray.remote
    def one():
        return 1

    ray.util.remove_placement_group(group[0])
    made = one.options(scheduling_strategy=group[1], **options).remote()
    for ref in made if isinstance(made, list) else [made]:
        with pytest.raises(ray.exceptions.TaskPlacementGroupRemoved) as caught:
            ray.get(ref)
        assert type(caught.value) is ray.exceptions.TaskPlacementGroupRemoved


@pytest.mark.rayshim_only
@pytest.mark.needs_concurrency
def test_what_asks_for_a_resource_that_another_bundle_has_waits_until_the_group_is_removed(ray, group):
    def one():
        return 1

    class Member:
        def ping(self):
            return "pong"

    both = ray.util.placement_group([{"CPU": 1}, {"memory": 1000}])
    ray.get(both.ready())
    first = type(group[1])(both, placement_group_bundle_index=0)
    asked = {"num_cpus": 0, "memory": 1000, "scheduling_strategy": first}
    task = ray.remote(one).options(**asked).remote()
    call = ray.remote(Member).options(**asked).remote().ping.remote()
    assert ray.wait([task, call], timeout=0.5)[0] == []
    assert ray.get(ray.remote(one).options(num_cpus=0, scheduling_strategy=first).remote()) == 1
    ray.util.remove_placement_group(both)
    with pytest.raises(ray.exceptions.TaskPlacementGroupRemoved):
        ray.get(task)
    with pytest.raises(ray.exceptions.ActorUnschedulableError):
        ray.get(call)
