"""Calls whose process forks, and comes back in both processes, or is replaced by another program."""

import os
import time

import pytest

pytestmark = pytest.mark.needs_processes


@pytest.fixture
def Forking(ray):
    return ray.remote(Forks)


class Forks:
    def __init__(self):
        self.calls = 0

    def fork(self):
        self.calls += 1
        return os.getpid(), os.fork()

    def fork_and_raise(self):
        if os.fork() == 0:
            raise ValueError("in the child")
        return "parent"

    def values(self):
        yield 1
        os.fork()
        yield 2

    def state(self):
        return os.getpid(), self.calls


def test_a_method_that_forks_answers_once(ray, Forking):
    actor = Forking.remote()
    pid, child = ray.get(actor.fork.remote(), timeout=60)
    assert child > 0
    assert ray.get(actor.state.remote(), timeout=60) == (pid, 1)


def test_what_the_child_of_a_method_raises_is_not_the_methods_error(ray, Forking):
    actor = Forking.remote()
    assert ray.get(actor.fork_and_raise.remote(), timeout=60) == "parent"
    assert ray.get(actor.state.remote(), timeout=60)[1] == 0


def test_a_task_that_forks_answers(ray):
    @ray.remote
    def fork():
        return os.getpid(), os.fork()

    pids = set()
    for _ in range(3):
        pid, child = ray.get(fork.remote(), timeout=60)  # on Ray, the child's answer may come first
        assert child > 0 or ray.__name__ == "ray"
        pids.add(pid)
    assert os.getpid() not in pids


@pytest.mark.needs_own_processes
def test_a_program_in_the_place_of_an_actor_ends_it(ray):
    @ray.remote
    class Replaced:
        def replace(self):
            os.execv("/bin/sleep", ["sleep", "0.1"])

        def get(self):
            return 1

    actor = Replaced.remote()
    assert ray.get(actor.get.remote(), timeout=60) == 1
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(actor.replace.remote(), timeout=60)
    deadline = time.monotonic() + 60
    with pytest.raises(ray.exceptions.ActorDiedError):
        while time.monotonic() < deadline:
            ray.get(actor.get.remote(), timeout=60)
