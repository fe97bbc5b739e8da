"""What a session keeps of what is over: nothing that grows with it, and no limit that a long session meets."""

import gc
import time
import weakref

import pytest

import rayshim as ray
from compat_tests.processes import wait_until
from rayshim.calls.class_info import ClassInfo
from rayshim.placement.packed import packed
from rayshim.util.placement_group import placement_group, placement_group_table, remove_placement_group
from rayshim.util.scheduling_strategies import PlacementGroupSchedulingStrategy


@pytest.fixture
def running():
    ray.init(num_cpus=4, log_to_driver=False)
    yield
    ray.shutdown()


@ray.remote(num_cpus=0)
def same(value):
    return value


def test_tasks_may_ask_for_ten_thousand_different_amounts(running):
    refs = [same.options(memory=amount).remote(amount) for amount in range(1, 10_001)]
    assert ray.get(refs) == list(range(1, 10_001))


def test_three_thousand_groups_may_come_and_go(running):
    for number in range(3000):
        group = placement_group([{"CPU": 1}, {"CPU": 1}, {"CPU": 1}])
        assert group.wait(20) and group.wait(0)
        if number % 10 == 0:
            inside = PlacementGroupSchedulingStrategy(group)
            assert ray.get(same.options(num_cpus=1, scheduling_strategy=inside).remote(number)) == number
        remove_placement_group(group)
    assert placement_group_table(group)["state"] == "REMOVED"
    assert len(placement_group_table()) == 3000


def test_handles_from_many_makers_leave_no_descriptions_of_their_class(running):
    @ray.remote(num_cpus=0)
    class Actor:
        def make(self):
            return Actor.remote()

        def ping(self):
            return "pong"

    for _ in range(150):
        maker = Actor.remote()
        made = ray.get(maker.make.remote())
        assert ray.get(made.ping.remote()) == "pong"
        del maker, made
    gc.collect()
    assert sum(type(one) is ClassInfo for one in gc.get_objects()) < 100


def test_an_actor_killed_in_a_method_leaves_no_state_in_its_packed_worker(tmp_path):
    @ray.remote(num_cpus=0)
    class Actor:
        def sleep(self, begun):
            begun.touch()
            time.sleep(0.02)

        def tables(self):
            gc.collect()
            return sum(isinstance(one, weakref.WeakValueDictionary) for one in gc.get_objects())

    ray.init(placement=packed(1), num_cpus=1, log_to_driver=False)
    try:
        stays = Actor.remote()
        before = ray.get(stays.tables.remote())
        for number in range(100):
            actor = Actor.remote()
            begun = tmp_path / str(number)
            actor.sleep.remote(begun)
            while not begun.exists():
                time.sleep(0.001)
            ray.kill(actor)
        del actor
        wait_until(lambda: ray.get(stays.tables.remote()) < before + 20)
    finally:
        ray.shutdown()
