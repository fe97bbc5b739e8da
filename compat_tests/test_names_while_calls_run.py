"""An actor whose handles are gone goes on until its calls have ended, and so long it has its name."""

import pytest

from compat_tests.processes import wait_until


@pytest.fixture
def begun(tmp_path):
    return tmp_path / "begun"


@pytest.fixture
def go_on(tmp_path):
    return tmp_path / "go_on"


@pytest.fixture
def worker(ray, begun, go_on):
    """An actor class with a call that makes one file, and waits for another."""

    @ray.remote
    class Worker:
        def ready(self):
            return True

        def run(self):
            begun.touch()
            wait_until(go_on.exists)
            return "done"

    return Worker


def is_named(ray, name):
    try:
        ray.get_actor(name)
    except ValueError:
        return False
    return True


def started(actor_class, name):
    """The ref of a call of an actor of that name, of which nobody has a handle any more."""
    actor = actor_class.options(name=name).remote()
    return actor.run.remote()


@pytest.mark.needs_concurrency
def test_an_actor_without_handles_is_found_while_its_call_runs(ray, worker, begun, go_on):
    ref = started(worker, "busy")
    wait_until(begun.exists)
    assert is_named(ray, "busy")
    then = ray.get_actor("busy").ready.remote()
    go_on.touch()
    assert ray.get(then)
    assert ray.get(ref) == "done"


@pytest.mark.needs_concurrency
def test_it_can_be_killed_by_its_name(ray, worker, begun):
    ref = started(worker, "doomed")
    wait_until(begun.exists)
    ray.kill(ray.get_actor("doomed"))
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(ref)
    wait_until(lambda: not is_named(ray, "doomed"))


def test_its_name_is_free_when_its_calls_have_ended(ray, worker, go_on):
    go_on.touch()
    assert ray.get(started(worker, "ended")) == "done"
    wait_until(lambda: not is_named(ray, "ended"))


def test_the_name_of_an_idle_actor_is_free_with_its_last_handle(ray, worker):
    actor = worker.options(name="idle").remote()
    assert ray.get(actor.ready.remote())
    del actor
    wait_until(lambda: not is_named(ray, "idle"))
    again = worker.options(name="idle").remote()
    assert ray.get(again.ready.remote())
