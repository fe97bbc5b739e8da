import asyncio

import pytest

pytestmark = pytest.mark.needs_concurrency


def test_async_methods_of_one_actor_interleave(ray):
    @ray.remote
    class Signal:
        def __init__(self):
            self.event = asyncio.Event()

        async def wait(self):
            await self.event.wait()
            return "woken"

        async def send(self):
            self.event.set()

    signal = Signal.remote()
    waiting = [signal.wait.remote() for _ in range(3)]
    ray.get(signal.send.remote())
    assert ray.get(waiting) == ["woken"] * 3


def test_an_async_method_awaits_refs(ray):
    @ray.remote
    def double(x):
        return 2 * x

    @ray.remote
    class Awaiter:
        async def add(self, a, b):
            return await double.remote(a) + sum(await asyncio.gather(double.remote(b), double.remote(b)))

    assert ray.get(Awaiter.remote().add.remote(1, 2)) == 10


def test_an_async_method_raises_as_any_other(ray):
    @ray.remote
    class Fragile:
        async def fail(self):
            raise ValueError("async")

    with pytest.raises(ValueError, match="async"):
        ray.get(Fragile.remote().fail.remote())


def test_a_driver_awaits_refs(ray):
    @ray.remote
    def double(x):
        return 2 * x

    async def main():
        return await asyncio.gather(*[double.remote(i) for i in range(3)])

    assert asyncio.run(main()) == [0, 2, 4]


def test_an_actor_with_threads_runs_that_many_calls_at_once(ray, gate):
    @ray.remote(max_concurrency=2)
    class Meeting:
        def meet(self, me, other):
            gate.touch(me)
            gate.wait_for(other)
            return me

    meeting = Meeting.remote()
    assert ray.get([meeting.meet.remote("a", "b"), meeting.meet.remote("b", "a")]) == ["a", "b"]


def test_a_ref_becomes_a_future(ray):
    @ray.remote
    def one():
        return 1

    assert one.remote().future().result(timeout=30) == 1


@pytest.mark.parametrize("swallows", [False, True])
def test_a_coroutine_cancelled_while_it_runs_is_a_task_error_and_a_cancellation(ray, gate, swallows):
    @ray.remote
    class Sleeper:
        async def sleep(self):
            gate.touch("asleep")
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                if not swallows:
                    raise
            return "slept"

    ref = Sleeper.remote().sleep.remote()
    gate.wait_for("asleep")
    ray.cancel(ref)
    with pytest.raises(ray.exceptions.TaskCancelledError) as caught:
        ray.get(ref)
    assert isinstance(caught.value, ray.exceptions.RayTaskError)


def test_a_call_that_waits_for_its_turn_begins_after_those_that_the_ended_one_has_woken(ray):
    @ray.remote(max_concurrency=2)
    class Pairs:
        def __init__(self):
            self.event, self.count = asyncio.Event(), 0

        async def meet(self):
            self.count += 1
            if self.count == 2:
                self.event.set()
            else:
                await self.event.wait()
                self.event.clear()
                self.count = 0

    for _ in range(10):
        pairs = Pairs.remote()
        assert ray.get([pairs.meet.remote() for _ in range(8)], timeout=20) == [None] * 8
