"""Tasks that wait in `get` give their CPU to others meanwhile, but not to any number of their like."""

import asyncio
import os

import pytest

from compat_tests.processes import wait_until

pytestmark = [pytest.mark.needs_processes]
TASKS = 40


@pytest.fixture
def door(ray):
    @ray.remote(num_cpus=0, max_concurrency=1000)
    class Door:
        def __init__(self):
            self.inside = 0
            self.opened = asyncio.Event()

        async def enter(self):
            self.inside += 1
            await self.opened.wait()

        async def open(self):
            self.opened.set()

        async def entered(self):
            return self.inside

    door = Door.remote()
    yield door
    ray.get(door.open.remote())


def test_tasks_that_wait_for_the_same_thing_are_not_all_started(ray, door):
    @ray.remote(num_cpus=1)
    def visit():
        ray.get(door.enter.remote())
        return True

    visits = [visit.remote() for _ in range(TASKS)]
    wait_until(lambda: ray.get(door.entered.remote()) > 4, 40.0, "one more than there are CPUs is let in")
    assert ray.get(door.entered.remote()) < TASKS // 2
    ray.get(door.open.remote())
    assert all(ray.get(visits))


def test_a_task_that_waits_for_one_of_its_like_gets_it(ray, door):
    @ray.remote(num_cpus=1)
    def visit(last):
        ray.get(door.open.remote() if last else door.enter.remote())
        return last

    visits = [visit.remote(i == 5) for i in range(6)]  # 4 CPUs; the last one opens the door
    assert ray.get(visits) == [False] * 5 + [True]


def test_those_of_their_like_that_tasks_wait_for_do_not_wait_one_after_the_other(ray, door, tmp_path):
    @ray.remote(num_cpus=1)
    def visit(others, after=None):
        if others:
            (tmp_path / str(os.getpid())).touch()
        return len(ray.get(others))

    opened = door.enter.remote()
    later = [visit.remote([], opened) for _ in range(12)]
    waiting = [visit.remote(later) for _ in range(4)]  # 4 CPUs
    wait_until(lambda: len(list(tmp_path.iterdir())) == 4, 40.0, "all CPUs are lent out")
    ray.get(door.open.remote())
    assert ray.get(waiting, timeout=20) == [12] * 4


def test_tasks_of_another_function_start_at_once(ray, door):
    @ray.remote(num_cpus=1)
    def visit():
        ray.get(door.enter.remote())

    @ray.remote(num_cpus=1)
    def open_door():
        ray.get(door.open.remote())

    visits = [visit.remote() for _ in range(4)]
    wait_until(lambda: ray.get(door.entered.remote()) == 4, 40.0, "all CPUs are lent out")
    ray.get(open_door.remote())
    ray.get(visits)


def test_a_recursion_is_deeper_than_there_are_cpus(ray):
    @ray.remote(num_cpus=1)
    def fib(n):
        return n if n < 2 else sum(ray.get([fib.remote(n - 1), fib.remote(n - 2)]))

    assert ray.get(fib.remote(7)) == 13
