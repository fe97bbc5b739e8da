"""Actors that others look for by name, and call, while they are created and end."""

import random
import time

import pytest

import rayshim as ray
from rayshim.util.state import list_actors, list_tasks


@pytest.fixture
def packed(monkeypatch):
    monkeypatch.setenv("RAYSHIM_PLACEMENT", "packed")
    ray.shutdown()
    ray.init(num_cpus=8)
    yield
    ray.shutdown()


@ray.remote(num_cpus=0)
class Made:
    def __init__(self):
        self.there = True

    def is_there(self, pause):
        time.sleep(pause)
        return self.there


@ray.remote(num_cpus=0)
class Finder:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def call(self, times):
        """What the calls gave, of actors whose calls are younger than this one's."""
        found = []
        for _ in range(times):
            try:
                actor = ray.get_actor(f"made {self.random.randrange(4)}")
                if self.random.random() < 0.3:
                    found.append(ray.get(actor.is_there.remote(0)))
            except (ValueError, ray.exceptions.RayActorError):
                pass
        return found


def in_time(refs):
    """What they gave; an AssertionError that tells what goes on if one is not done after 15 s."""
    try:
        return ray.get(refs, timeout=15)
    except ray.exceptions.GetTimeoutError:
        living = [
            (actor.actor_id, actor.name, actor.state, actor.pid) for actor in list_actors() if actor.state != "DEAD"
        ]
        open_ = [
            (task.name, task.state, task.actor_id, task.worker_pid) for task in list_tasks() if task.state != "FINISHED"
        ]
        raise AssertionError(
            f"not done: {ray.wait(refs, num_returns=len(refs), timeout=0)[1]}; actors {living}; calls {open_}"
        ) from None


def test_calls_of_those_that_found_the_name_run_after_the_constructor_or_not_at_all(packed):
    finders = [Finder.remote(seed) for seed in range(3)]
    called = [finder.call.remote(6000) for finder in finders]
    numbers = random.Random(3)
    refs = []
    while ray.wait(called, num_returns=3, timeout=0)[1]:
        try:
            actor = Made.options(name=f"made {numbers.randrange(4)}").remote()
        except ValueError:
            continue
        refs += [actor.is_there.remote(numbers.choice([0, 0, 0.001, 0.003])) for _ in range(numbers.randrange(1, 5))]
        del actor
        if len(refs) > 40:
            in_time(refs[:20])
            del refs[:20]
    assert {there for found in in_time(called) for there in found} == {True}
