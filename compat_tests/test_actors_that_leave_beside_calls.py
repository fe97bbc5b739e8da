"""`exit_actor` while other calls of the actor are at work: these end first, and whoever called the end is not kept waiting for them."""

import asyncio

import pytest

pytestmark = [pytest.mark.needs_own_processes, pytest.mark.needs_concurrency]
LONG = 4.0  # seconds: longer than the caller of the end waits for the death
KINDS = ["async", "threaded"]


@pytest.fixture
def make(ray, gate):
    """Makes an actor of a kind, with these options, that runs."""

    class Async:
        async def here(self):
            return True

        async def work(self):
            gate.touch("begun")
            while not gate.is_open():
                await asyncio.sleep(0.02)
            return "worked"

        async def for_ever(self):
            gate.touch("begun")
            while True:
                await asyncio.sleep(0.05)

        async def leave(self):
            gate.touch("leaves")
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

        def work(self):
            gate.touch("begun")
            gate.wait_for("open")
            return "worked"

        def leave(self):
            gate.touch("leaves")
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


@pytest.fixture
def begun(gate):
    """Takes the ref of a call of `work` or `for_ever`, and gives it back when the call has begun."""

    def begun(ref):
        gate.wait_for("begun")
        return ref

    return begun


@pytest.fixture
def worked(ray, gate):
    """Takes the ref of a call of `work`, and lets the call end."""

    def worked(ref):
        assert not ray.wait([ref], timeout=0)[0]
        gate.open()
        assert ray.get(ref, timeout=20) == "worked"

    return worked


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
def test_the_call_that_ends_the_actor_fails_before_a_long_one_beside_it_ends(ray, make, begun, worked, kind, method):
    actor = make(kind)
    beside = begun(actor.work.remote())
    told = unavailable(ray, getattr(actor, method).remote())
    assert f"The actor {actor._actor_id.hex()} is unavailable: The actor is temporarily unavailable: IntentionalSystemExit: " in told
    assert "Worker exits with an exit code 0. exit_actor() is called.." in told
    worked(beside)
    assert "INTENDED_USER_EXIT" in died(ray, actor.here.remote()) or kind == "threaded"


def test_a_server_that_loops_for_ever_can_be_told_to_leave(ray, make, begun):
    actor = make("async")
    loop = begun(actor.for_ever.remote())
    unavailable(ray, actor.leave.remote())
    later = actor.here.remote()
    assert not ray.wait([loop, later], timeout=1)[0]
    ray.kill(actor)
    died(ray, loop)
    died(ray, later)


@pytest.mark.parametrize("kind", KINDS)
def test_a_short_call_beside_it_ends_first_and_the_callers_get_the_death(ray, make, gate, begun, worked, kind):
    actor = make(kind)
    beside = begun(actor.work.remote())
    end = actor.leave.remote()
    gate.wait_for("leaves")
    worked(beside)
    assert "INTENDED_USER_EXIT" in died(ray, end)


@pytest.mark.parametrize("kind", KINDS)
def test_later_calls_wait_for_the_death(ray, make, begun, worked, kind):
    actor = make(kind)
    beside = begun(actor.work.remote())
    unavailable(ray, actor.leave.remote())
    later = [actor.here.remote(), actor.leave.remote()]
    assert not ray.wait(later, timeout=0.5)[0]
    worked(beside)
    for ref in later:
        died(ray, ref)


@pytest.mark.parametrize("kind", KINDS)
def test_the_actor_is_not_restarted(ray, make, begun, worked, kind):
    actor = make(kind, max_restarts=2)
    beside = begun(actor.work.remote())
    unavailable(ray, actor.leave.remote())
    worked(beside)
    died(ray, actor.here.remote())


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_with_retries_waits_for_the_death(ray, make, begun, worked, kind):
    actor = make(kind, max_restarts=2, max_task_retries=1)
    beside = begun(actor.work.remote())
    end = actor.leave.remote()
    assert not ray.wait([end], timeout=LONG)[0]
    worked(beside)
    died(ray, end)


def test_all_results_of_the_call_fail(ray, make, begun, worked):
    actor = make("async")
    beside = begun(actor.work.remote())
    for ref in actor.leave_two.remote():
        unavailable(ray, ref)
    worked(beside)


def test_a_stream_of_values_ends_with_the_error(ray, make, begun, worked):
    actor = make("threaded")
    beside = begun(actor.work.remote())
    first, last = actor.leave_values.remote()
    assert ray.get(first) == 1
    unavailable(ray, last)
    worked(beside)


def test_a_task_that_takes_the_result_fails_with_it(ray, make, begun, worked):
    @ray.remote
    def take(value):
        return value

    actor = make("async")
    beside = begun(actor.work.remote())
    end = actor.leave.remote()
    unavailable(ray, take.remote(end))
    unavailable(ray, end)  # asked again
    worked(beside)


def test_a_detached_actor_has_its_name_until_it_has_gone(ray, make, begun, worked):
    actor = make("async", name="leaver", lifetime="detached")
    beside = begun(actor.work.remote())
    unavailable(ray, actor.leave.remote())
    assert ray.get_actor("leaver") == actor
    worked(beside)
    died(ray, actor.here.remote())
    with pytest.raises(ValueError, match="leaver"):
        ray.get_actor("leaver")
