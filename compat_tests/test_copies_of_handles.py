"""How long an actor lives whose handle was copied."""

import copy
import pickle
import time

import pytest

pytestmark = pytest.mark.needs_processes

COPIES = [copy.copy, copy.deepcopy, lambda handle: copy.deepcopy({"handles": [handle]})["handles"][0]]


def ends(ray, handle):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            ray.get(handle.ping.remote())
        except ray.exceptions.ActorDiedError:
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def named(ray):
    @ray.remote
    class Actor:
        def ping(self):
            return "ping"

    def make(name):
        actor = Actor.options(name=name).remote()
        ray.get(actor.ping.remote())
        return actor

    return make


@pytest.mark.parametrize("way", COPIES, ids=["copy", "deepcopy", "inside a dict"])
def test_a_copy_of_a_handle_keeps_the_actor_as_long_as_it_is_there(ray, named, way):
    actor = named("copied")
    found = ray.get_actor("copied")
    another = way(actor)
    assert another == actor and hash(another) == hash(actor)
    del actor
    assert ray.get(another.ping.remote()) == "ping"
    other = named("other")
    found_other = ray.get_actor("other")
    del other
    assert ends(ray, found_other)  # by then an actor that was let go earlier would have ended, too
    assert ray.get(found.ping.remote()) == "ping"
    del another
    assert ends(ray, found)


def test_a_copied_method_keeps_no_actor(ray, named):
    actor = named("of-method")
    found = ray.get_actor("of-method")
    method = copy.deepcopy(actor.ping)
    assert ray.get(method.remote()) == "ping"
    del actor, method
    assert ends(ray, found)


@pytest.mark.parametrize("way", [*COPIES, lambda handle: pickle.loads(pickle.dumps(handle))], ids=["copy", "deepcopy", "inside a dict", "pickle"])
def test_a_copy_of_a_handle_that_was_found_keeps_no_actor(ray, named, way):
    actor = named("found")
    another = way(ray.get_actor("found"))
    assert ray.get(another.ping.remote()) == "ping"
    del actor
    assert ends(ray, another)
