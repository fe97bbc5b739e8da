"""`exit_actor` while other calls of the actor are at work: these end first, and whoever called the end is not kept waiting for them."""

import asyncio
import time

import pytest

pytestmark = [pytest.mark.needs_own_processes, pytest.mark.needs_concurrency]
LONG = 4.0  # longer than the caller of the end waits for the death
KINDS = ["async", "threaded"]


@pytest.fixture
def make(ray):
    """Makes an actor of a kind, with these options, that runs."""

    class Async:
        async def here(self):
            return True

        async def work(self, seconds):
            await asyncio.sleep(seconds)
            return seconds

        async def for_ever(self):
            while True:
                await asyncio.sleep(0.05)

        async def leave(self):
            ray.actor.exit_actor()

        async def leave_caught(self):
            try:
                ray.actor.exit_actor()
            except BaseException:
                return "caught"

        def leave_plain(self):
            ray.actor.exit_actor()

        @ray.method(num_returns=2)
        async def leave_two(self):
            ray.actor.exit_actor()

    class Threaded:
        def here(self):
            return True

        def work(self, seconds):
            time.sleep(seconds)
            return seconds

        def leave(self):
            ray.actor.exit_actor()

        def leave_caught(self):
            try:
                ray.actor.exit_actor()
            except BaseException:
                return "caught"

        def leave_values(self):
            yield 1
            ray.actor.exit_actor()

    def made(kind, **options):
        cls = {"async": Async, "threaded": Threaded}[kind]
        if kind == "threaded":
            options["max_concurrency"] = 4
        actor = ray.remote(cls).options(**options).remote()
        ray.get(actor.here.remote())
        return actor

    return made


def begun(ref):
    """The ref of a call that has been given the time to begin."""
    time.sleep(0.3)
    return ref


def unavailable(ray, ref):
    with pytest.raises(ray.exceptions.ActorUnavailableError) as caught:
        ray.get(ref, timeout=20)
    return str(caught.value)


def died(ray, ref):
    with pytest.raises(ray.exceptions.ActorDiedError) as caught:
        ray.get(ref, timeout=20)
    return str(caught.value)


@pytest.mark.parametrize("kind, method", [
    ("async", "leave"), ("async", "leave_caught"), ("async", "leave_plain"), ("threaded", "leave"), ("threaded", "leave_caught"),
])
def test_the_call_that_ends_the_actor_fails_before_a_long_one_beside_it_ends(ray, make, kind, method):
    actor = make(kind)
    beside = begun(actor.work.remote(LONG))
    told = unavailable(ray, getattr(actor, method).remote())
    assert f"The actor {actor._actor_id.hex()} is unavailable: The actor is temporarily unavailable: IntentionalSystemExit: " in told
    assert "Worker exits with an exit code 0. exit_actor() is called.." in told
    assert not ray.wait([beside], timeout=0)[0]
    assert ray.get(beside, timeout=20) == LONG
    assert "exit_actor() is called" in died(ray, actor.here.remote()) or kind == "threaded"


def test_a_server_that_loops_for_ever_can_be_told_to_leave(ray, make):
    actor = make("async")
    loop = begun(actor.for_ever.remote())
    unavailable(ray, actor.leave.remote())
    later = actor.here.remote()
    assert not ray.wait([loop, later], timeout=1)[0]
    ray.kill(actor)
    died(ray, loop)
    died(ray, later)


@pytest.mark.parametrize("kind", KINDS)
def test_a_short_call_beside_it_ends_first_and_the_callers_get_the_death(ray, make, kind):
    actor = make(kind)
    beside = begun(actor.work.remote(0.8))
    assert "exit_actor() is called" in died(ray, actor.leave.remote())
    assert ray.get(beside, timeout=20) == 0.8


@pytest.mark.parametrize("kind", KINDS)
def test_later_calls_wait_for_the_death(ray, make, kind):
    actor = make(kind)
    beside = begun(actor.work.remote(LONG))
    end = actor.leave.remote()
    time.sleep(0.3)
    later = [actor.here.remote(), actor.leave.remote()]
    unavailable(ray, end)
    assert not ray.wait(later, timeout=0.5)[0]
    for ref in later:
        died(ray, ref)
    assert ray.get(beside, timeout=20) == LONG


@pytest.mark.parametrize("kind", KINDS)
def test_the_actor_is_not_restarted(ray, make, kind):
    actor = make(kind, max_restarts=2)
    beside = begun(actor.work.remote(LONG))
    unavailable(ray, actor.leave.remote())
    assert ray.get(beside, timeout=20) == LONG
    died(ray, actor.here.remote())


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_with_retries_waits_for_the_death(ray, make, kind):
    actor = make(kind, max_restarts=2, max_task_retries=1)
    beside = begun(actor.work.remote(LONG))
    died(ray, actor.leave.remote())
    assert ray.get(beside, timeout=20) == LONG


def test_all_results_of_the_call_fail(ray, make):
    actor = make("async")
    beside = begun(actor.work.remote(LONG))
    for ref in actor.leave_two.remote():
        unavailable(ray, ref)
    assert ray.get(beside, timeout=20) == LONG


def test_a_stream_of_values_ends_with_the_error(ray, make):
    actor = make("threaded")
    beside = begun(actor.work.remote(LONG))
    first, last = actor.leave_values.remote()
    assert ray.get(first) == 1
    unavailable(ray, last)
    assert ray.get(beside, timeout=20) == LONG


def test_a_task_that_takes_the_result_fails_with_it(ray, make):
    @ray.remote
    def take(value):
        return value

    actor = make("async")
    beside = begun(actor.work.remote(LONG))
    end = actor.leave.remote()
    unavailable(ray, take.remote(end))
    unavailable(ray, end)  # asked again
    assert not ray.wait([beside], timeout=0)[0]
    assert ray.get(beside, timeout=20) == LONG


def test_a_detached_actor_has_its_name_until_it_has_gone(ray, make):
    actor = make("async", name="leaver", lifetime="detached")
    beside = begun(actor.work.remote(LONG))
    unavailable(ray, actor.leave.remote())
    assert ray.get_actor("leaver") == actor
    assert ray.get(beside, timeout=20) == LONG
    died(ray, actor.here.remote())
    with pytest.raises(ValueError, match="leaver"):
        ray.get_actor("leaver")
