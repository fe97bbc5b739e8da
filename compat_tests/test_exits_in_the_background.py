"""`exit_actor` by code of an async actor that belongs to no call: background tasks, callbacks, threads."""

import asyncio
import atexit
import os
import threading
import time

import pytest

pytestmark = [pytest.mark.needs_own_processes, pytest.mark.needs_concurrency]


@pytest.fixture
def service(ray, gate):
    """A class whose methods begin the end of the actor in various ways and return."""
    exit_actor = ray.actor.exit_actor

    class Service:
        def __init__(self, at_once=False):
            atexit.register(gate.touch, "exit function")
            if at_once:
                self.kept = asyncio.get_running_loop().create_task(self.leave())

        def __ray_shutdown__(self):
            gate.touch("shutdown")

        async def leave(self):
            await asyncio.sleep(0.2)
            exit_actor()

        async def task(self):
            self.kept = asyncio.create_task(self.leave())

        async def later(self):
            asyncio.get_running_loop().call_later(0.2, exit_actor)

        async def done(self):
            self.kept = asyncio.create_task(asyncio.sleep(0.2))
            self.kept.add_done_callback(lambda _: exit_actor())

        async def thread(self):
            def leave():
                time.sleep(0.2)
                exit_actor()

            threading.Thread(target=leave).start()

        async def awaited(self):
            await asyncio.create_task(self.leave())

        async def ping(self):
            return "alive"

    return ray.remote(num_cpus=0)(Service)


def ends(ray, gate, actor):
    """Whether the actor ends in order: its exit functions run, and calls raise ActorDiedError."""
    deadline = time.monotonic() + 40
    while True:
        try:
            ray.get(actor.ping.remote(), timeout=20)
        except ray.exceptions.ActorDiedError:
            break
        except ray.exceptions.ActorUnavailableError:
            pass
        assert time.monotonic() < deadline
        time.sleep(0.05)
    gate.wait_for("exit function")
    gate.wait_for("shutdown")
    return True


@pytest.mark.parametrize("how", ["task", "later", "done", "thread"])
def test_the_actor_ends_with_its_exit_functions(ray, service, gate, how):
    actor = service.remote()
    assert ray.get(getattr(actor, how).remote()) is None
    assert ends(ray, gate, actor)


def test_a_task_that_the_constructor_has_begun(ray, service, gate):
    assert ends(ray, gate, service.remote(at_once=True))


def test_a_task_for_which_the_call_waits(ray, service, gate):
    actor = service.remote()
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(actor.awaited.remote(), timeout=40)
    assert ends(ray, gate, actor)


@pytest.mark.parametrize("options", [{}, {"max_concurrency": 3}, {"concurrency_groups": {"io": 2}}])
def test_a_thread_of_an_actor_without_an_event_loop(ray, gate, options):
    exit_actor = ray.actor.exit_actor

    @ray.remote(num_cpus=0, **options)
    class Plain:
        def __init__(self):
            atexit.register(gate.touch, "exit function")

        def __ray_shutdown__(self):
            gate.touch("shutdown")

        def thread(self):
            threading.Thread(target=exit_actor).start()

        def ping(self):
            return os.getpid()

    actor = Plain.remote()
    ray.get(actor.thread.remote())
    assert ends(ray, gate, actor)


@pytest.mark.parametrize("kind", ["async", "threaded"])
def test_calls_that_have_not_begun_when_another_ends_the_actor_do_not_begin(ray, gate, kind):
    class Async:
        async def leave(self):
            await asyncio.sleep(0.2)
            ray.actor.exit_actor()

        async def work(self, i):
            gate.touch(f"begun-{i}")
            await asyncio.sleep(0.5)

    class Threaded:
        def leave(self):
            time.sleep(0.2)
            ray.actor.exit_actor()

        def work(self, i):
            gate.touch(f"begun-{i}")
            time.sleep(0.5)

    actor = ray.remote({"async": Async, "threaded": Threaded}[kind]).options(max_concurrency=2).remote()
    refs = [actor.leave.remote(), *(actor.work.remote(i) for i in range(100))]
    ray.wait(refs, num_returns=len(refs), timeout=60)
    failed = 0
    for ref in refs:
        try:
            ray.get(ref, timeout=1)
        except ray.exceptions.RayActorError:
            failed += 1
    assert failed > 80
    assert sum(name.startswith("begun") for name in os.listdir(gate.directory)) < 20
