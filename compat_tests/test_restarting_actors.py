"""Calls to an actor that is being restarted: without retries they fail at once and are not run later; with retries they wait."""

import os
import signal
import time

import pytest

pytestmark = [pytest.mark.needs_own_processes, pytest.mark.needs_concurrency]


@pytest.fixture
def store(ray, gate):
    """A class of actors whose constructor waits for "go on" where it is not the first one, and which note their calls."""

    @ray.remote(num_cpus=0)
    class Store:
        def __init__(self):
            if os.path.exists(os.path.join(gate.directory, "constructed")):
                gate.touch("again")
                gate.wait_for("go on")
            gate.touch("constructed")
            self.noted = []

        def pid(self):
            return os.getpid()

        def note(self, what):
            self.noted.append(what)
            return what

        def values(self, what):
            self.noted.append(what)
            yield what

        def all(self):
            return self.noted

    return Store


def restarting(ray, gate, actor, how="kill"):
    """Ends the actor's process, and waits until its constructor runs again."""
    pid = ray.get(actor.pid.remote())
    if how == "stop":
        os.kill(pid, signal.SIGSTOP)
        waiting = [actor.note.remote("sent to the stopped one") for _ in range(2)]
        os.kill(pid, signal.SIGKILL)
        for ref in waiting:
            with pytest.raises(ray.exceptions.ActorUnavailableError):
                ray.get(ref, timeout=30)
    elif how == "no_restart":
        ray.kill(actor, no_restart=False)
    else:
        os.kill(pid, signal.SIGKILL)
    gate.wait_for("again")


def until_it_answers(ray, call):
    while True:
        try:
            return ray.get(call(), timeout=30)
        except ray.exceptions.ActorUnavailableError:
            time.sleep(0.02)


@pytest.mark.parametrize("options", [{}, {"max_concurrency": 3}])
@pytest.mark.parametrize("how", ["kill", "stop", "no_restart"])
def test_a_call_without_retries_fails_at_once_and_is_not_run_later(ray, gate, store, how, options):
    actor = store.options(max_restarts=1, **options).remote()
    restarting(ray, gate, actor, how)
    for _ in range(3):
        with pytest.raises(ray.exceptions.ActorUnavailableError):
            ray.get(actor.note.remote("while it restarts"), timeout=30)
    gate.touch("go on")
    assert until_it_answers(ray, lambda: actor.note.remote("after")) == "after"
    assert ray.get(actor.all.remote()) == ["after"]


def test_a_generator_fails_at_once(ray, gate, store):
    actor = store.options(max_restarts=1).remote()
    restarting(ray, gate, actor)
    with pytest.raises(ray.exceptions.ActorUnavailableError):
        ray.get(next(actor.values.options(num_returns="streaming").remote("while it restarts")), timeout=30)
    gate.touch("go on")
    until_it_answers(ray, lambda: actor.note.remote("after"))
    assert ray.get(actor.all.remote()) == ["after"]


def test_a_call_of_a_task_fails_at_once(ray, gate, store):
    @ray.remote(num_cpus=0)
    def other(actor):
        try:
            return ray.get(actor.note.remote("of a task"), timeout=30)
        except ray.exceptions.ActorUnavailableError:
            return "unavailable"

    actor = store.options(max_restarts=1).remote()
    restarting(ray, gate, actor)
    assert ray.get(other.remote(actor), timeout=60) == "unavailable"
    gate.touch("go on")
    until_it_answers(ray, lambda: actor.note.remote("after"))
    assert ray.get(actor.all.remote()) == ["after"]


def test_a_call_with_retries_waits(ray, gate, store):
    actor = store.options(max_restarts=1, max_task_retries=1).remote()
    restarting(ray, gate, actor)
    waits = actor.note.remote("waits")
    assert not ray.wait([waits], timeout=1)[0]
    gate.touch("go on")
    assert ray.get(waits, timeout=60) == "waits"
    assert ray.get(actor.all.remote(), timeout=60) == ["waits"]


def test_a_call_to_an_actor_that_is_constructed_for_the_first_time_waits(ray, gate, store):
    gate.touch("constructed")
    actor = store.options(max_restarts=1).remote()
    gate.wait_for("again")
    waits = actor.note.remote("waits")
    assert not ray.wait([waits], timeout=1)[0]
    gate.touch("go on")
    assert ray.get(waits, timeout=60) == "waits"
