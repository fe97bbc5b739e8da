"""What is kept of actors that were made and are gone: it is bounded, however many there were."""

import gc

import pytest
from reactor import _core
from reactor.tests.calling import wait_until

import rayshim as ray
from rayshim.session import session

pytestmark = [pytest.mark.timeout(120), pytest.mark.usefixtures("zygote_has_pytest")]


@pytest.fixture(params=["isolated", "packed", "inline"])
def running(request):
    ray.init(placement=request.param, num_cpus=2, log_to_driver=False)
    yield request.param
    ray.shutdown()


@ray.remote(num_cpus=0)
class Short:
    def one(self):
        return 1


def none_left():
    return all(a["state"] == "DEAD" for a in session.current.placement.state()["actors"])


def make_and_drop(rounds, at_once):
    """The shared memory's pages of small blocks after that."""
    for _ in range(rounds):
        actors = [Short.remote() for _ in range(at_once)]
        assert ray.get([actor.one.remote() for actor in actors]) == [1] * at_once
        del actors
        gc.collect()
    wait_until(none_left)
    return _core.stats()["slab_pages"]


@pytest.mark.parametrize("at_once", [1, 8])
def test_shared_memory_does_not_grow_with_the_actors_that_were_made(running, at_once):
    rounds = 40 // at_once
    first = make_and_drop(rounds, at_once)
    second = make_and_drop(rounds, at_once)
    assert second - first <= 4  # and not one for each actor


def test_a_report_has_the_calls_of_actors_that_are_gone(running):
    make_and_drop(12, 1)
    assert (
        sum(timing.calls for reaction, timing in ray.graph().recording.measured.items() if reaction.endswith(".one"))
        == 12
    )
