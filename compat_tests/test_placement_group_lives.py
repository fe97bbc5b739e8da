"""How long a placement group lives, what it waits for, and what a name finds."""

import time

import pytest

from compat_tests.processes import wait_until


@pytest.mark.needs_processes
def test_a_group_outlives_the_actor_that_made_it(ray):
    @ray.remote(num_cpus=0)
    class Maker:
        def make(self):
            group = ray.util.placement_group([{"CPU": 1}])
            ray.get(group.ready())
            return group

    maker = Maker.remote()
    group = ray.get(maker.make.remote())
    ray.kill(maker)
    end = time.monotonic() + 1
    while time.monotonic() < end:
        assert ray.util.placement_group_table(group)["state"] == "CREATED"
        time.sleep(0.05)
    ray.util.remove_placement_group(group)


@pytest.mark.needs_processes
def test_a_group_outlives_the_task_that_made_it(ray):
    @ray.remote(max_calls=1)
    def make():
        group = ray.util.placement_group([{"CPU": 1}])
        ray.get(group.ready())
        return group

    group = ray.get(make.remote())
    end = time.monotonic() + 1
    while time.monotonic() < end:
        assert ray.util.placement_group_table(group)["state"] == "CREATED"
        time.sleep(0.05)
    ray.util.remove_placement_group(group)


def test_a_group_that_waits_for_others_has_no_resources(ray):
    first, second = (ray.util.placement_group([{"CPU": 4}]) for _ in range(2))
    try:
        assert first.wait(5)
        wait_until(lambda: ray.util.placement_group_table(second)["stats"]["scheduling_state"] == "NO_RESOURCES")
        assert ray.util.placement_group_table(second)["state"] == "PENDING"
    finally:
        for group in (first, second):
            ray.util.remove_placement_group(group)


def test_its_stats_tell_how_long_it_took(ray):
    def stats(group):
        return ray.util.placement_group_table(group)["stats"]

    first = ray.util.placement_group([{"CPU": 4}])
    assert first.wait(5)
    made = stats(first)
    assert made["end_to_end_creation_latency_ms"] >= made["scheduling_latency_ms"] > 0
    assert made["scheduling_attempt"] == 1
    second, never = ray.util.placement_group([{"CPU": 4}]), ray.util.placement_group([{"none": 1}])
    wait_until(lambda: stats(second)["scheduling_state"] == "NO_RESOURCES")
    wait_until(lambda: stats(never)["scheduling_state"] == "INFEASIBLE")
    for waiting in (second, never):
        assert stats(waiting)["end_to_end_creation_latency_ms"] == stats(waiting)["scheduling_latency_ms"] == 0
        assert stats(waiting)["scheduling_attempt"] >= 1
    time.sleep(0.3)
    ray.util.remove_placement_group(first)
    assert second.wait(10)
    late = stats(second)
    assert late["scheduling_attempt"] >= 2
    assert late["end_to_end_creation_latency_ms"] > 300 > late["scheduling_latency_ms"] > 0
    for group in (second, never):
        ray.util.remove_placement_group(group)
    for group, before in ((first, made), (second, late)):
        wait_until(lambda: stats(group)["scheduling_state"] == "REMOVED")
        assert stats(group) == {**before, "scheduling_state": "REMOVED"}


def test_a_group_is_found_by_text_only(ray):
    with pytest.raises(TypeError, match="expected bytes, int found"):
        ray.util.get_placement_group(5)


def test_a_wrong_label_selector_is_told(ray):
    with pytest.raises(ValueError, match="Invalid label selector provided in bundle_label_selector list. Detailed error: 'Invalid label selector value"):
        ray.util.placement_group([{"CPU": 1}], bundle_label_selector=[{"a": "!in()"}])
