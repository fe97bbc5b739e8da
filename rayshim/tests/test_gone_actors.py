"""What is kept of actors that were made and are gone: it is bounded, however many there were."""

import asyncio
import contextlib
import gc
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from reactor import _core
from reactor.runtime.messages.control import DRAIN
from reactor.tests.calling import wait_until

import rayshim as ray
from rayshim.session import session

pytestmark = [pytest.mark.usefixtures("zygote_has_pytest")]


@pytest.fixture(params=["isolated", "packed", "inline"])
def running(request):
    ray.init(placement=request.param, num_cpus=2, log_to_driver=False)
    yield request.param
    ray.shutdown()


@ray.remote(num_cpus=0)
class Short:
    def one(self):
        return 1


@ray.remote(num_cpus=0)
def soon():
    time.sleep(0.002)
    return 1


@ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)
class Caller:
    """Calls a function of which each of its processes makes a copy, and waits for the results on a thread of its own, too."""

    def one(self):
        refs = [soon.remote() for _ in range(3)]
        ray.wait(refs, num_returns=1)
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(ray.get, refs).result()[0]

    def pid(self):
        return os.getpid()


@ray.remote(num_cpus=0)
class Awaiting:
    async def one(self):
        first = soon.remote()
        return max(await asyncio.gather(first, soon.remote(), soon.remote()))


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


def in_use():
    stats = _core.stats()
    return stats["slab_pages"], stats["store_used"]


def check_growth(before, pages, store):
    """Of a process that has just ended a block of 64 KiB is free a moment later."""
    with contextlib.suppress(AssertionError):
        wait_until(lambda: in_use()[0] - before[0] <= pages and in_use()[1] - before[1] <= store, 5)
    now = in_use()
    assert now[0] - before[0] <= pages
    assert now[1] - before[1] <= store


@pytest.mark.parametrize("end", ["drop", "ray.kill"])
@pytest.mark.parametrize("kind", [Caller, Awaiting], ids=["waiting", "awaiting"])
def test_shared_memory_does_not_grow_with_the_actors_that_called_functions(running, kind, end):
    def rounds(count):
        for _ in range(count):
            actors = [kind.remote() for _ in range(4)]
            assert ray.get([actor.one.remote() for actor in actors]) == [1] * 4
            while actors:
                actor = actors.pop()
                if end == "ray.kill":
                    ray.kill(actor)
                del actor
            gc.collect()
        wait_until(none_left)
        return in_use()

    before = rounds(12)
    rounds(12)
    check_growth(before, 24, 24 << 10)  # and not several pages for each of 48 actors


def test_shared_memory_does_not_grow_with_the_workers_that_were_killed(running):
    if running == "inline":
        pytest.skip("inline has no workers")
    actor = Caller.remote()

    def rounds(count):
        for _ in range(count):
            pid = ray.get(actor.pid.remote())
            ref = actor.one.remote()
            time.sleep(0.001)  # it waits for its results
            os.kill(pid, signal.SIGKILL)
            assert ray.get(ref) == 1
        return in_use()

    before = rounds(20)
    rounds(40)
    check_growth(before, 16, 8 << 10)  # and not one page for each of 40 processes


def test_a_report_has_the_calls_of_actors_that_are_gone(running):
    make_and_drop(12, 1)
    assert (
        sum(timing.calls for reaction, timing in ray.graph().recording.measured.items() if reaction.endswith(".one"))
        == 12
    )


def test_the_name_of_an_actor_without_handles_is_free_at_once(running):
    @ray.remote(num_cpus=0)
    class Counter:
        def __init__(self):
            self.n = 0

        def count(self):
            self.n += 1
            return self.n

    def ask(options):
        return ray.get(Counter.options(name="again", **options).remote().count.remote())

    assert [ask({}) for _ in range(30)] == [1] * 30
    assert [ask({"get_if_exists": True}) for _ in range(30)] == [1] * 30
    assert ray.util.list_named_actors() == []


@pytest.mark.parametrize("running", ["isolated", "packed"], indirect=True)
@pytest.mark.parametrize("offset_of", ["nothing", "another actor"])
def test_a_request_to_drain_a_dead_actor_may_come_when_it_is_forgotten(running, offset_of, tmp_path):
    """Its sender has sent a call to the actor at its death, and let go of it. Its memory is free then, or another actor's."""
    go_on = tmp_path / "go_on"

    @ray.remote(num_cpus=0)
    class Waits:
        def first(self):
            while not go_on.exists():
                time.sleep(0.001)
            return 1

        def second(self):
            return 2

    other = Waits.options(name="other").remote()
    refs = [other.first.remote(), other.second.remote()]
    control = session.current.placement.control
    offset, info = control.ask("named", "other", session.current.namespace, False)
    _core.drop(offset)
    _core.drop(info)
    late = offset if offset_of == "another actor" else offset + 8
    error = _core.send_message(_core.epoch(), DRAIN.to_bytes(1, "little") + late.to_bytes(8, "little"))
    assert error == 0
    control.ask("names")  # requests are answered in their order
    go_on.touch()
    assert ray.get(refs) == [1, 2]
