"""Actors whose `__init__` is a coroutine function, the name of the constructor's call, and asyncio's CancelledError that leaves a method."""

import asyncio

import pytest


def test_a_coroutine_function_constructs_the_actor_in_its_loop(ray):
    @ray.remote
    class Async:
        async def __init__(self, x, *, y=1):
            await asyncio.sleep(0.01)
            self.x, self.y, self.loop = x, y, asyncio.get_running_loop()

        async def get(self):
            return self.x, self.y, self.loop is asyncio.get_running_loop()

    assert ray.get(Async.remote(4, y=2).get.remote()) == (4, 2, True)


def test_it_may_be_the_only_one_of_its_class(ray):
    @ray.remote
    class Async:
        async def __init__(self, x):
            await asyncio.sleep(0.01)
            self.x = x

        def get(self):
            return self.x

    assert ray.get(Async.remote(4).get.remote()) == 4


def test_its_exception_is_the_reason_of_the_actors_death(ray):
    @ray.remote
    class Async:
        async def __init__(self):
            await asyncio.sleep(0.01)
            raise ValueError("no")

        async def get(self):
            pass

    with pytest.raises(ray.exceptions.ActorDiedError, match="ValueError: no"):
        ray.get(Async.remote().get.remote())


@pytest.mark.needs_concurrency
def test_a_task_that_it_starts_goes_on(ray):
    @ray.remote
    class Async:
        async def __init__(self):
            self.ticks = 0
            self.task = asyncio.create_task(self.tick())
            await asyncio.sleep(0)

        async def tick(self):
            for _ in range(5):
                await asyncio.sleep(0.001)
                self.ticks += 1

        async def get(self):
            await self.task
            return self.ticks

    assert ray.get(Async.remote().get.remote()) == 5


@pytest.fixture
def canceller(ray):
    @ray.remote
    class Canceller:
        async def wait(self):
            task = asyncio.create_task(asyncio.sleep(10))
            task.cancel()
            await task

        async def give(self):
            yield 1
            await self.wait()

        def plain(self):
            raise asyncio.CancelledError

        async def get(self):
            return 1

    return Canceller.remote()


def test_a_cancelled_error_of_a_coroutine_is_a_cancelled_call(ray, canceller):
    with pytest.raises(ray.exceptions.TaskCancelledError) as caught:
        ray.get(canceller.wait.remote())
    assert isinstance(caught.value, ray.exceptions.RayTaskError)
    assert ray.get(canceller.get.remote()) == 1


def test_so_is_one_of_an_async_generator(ray, canceller):
    first, second = canceller.give.options(num_returns="streaming").remote()
    assert ray.get(first) == 1
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(second)


@pytest.mark.needs_concurrency
def test_so_is_one_of_a_plain_method_of_an_async_actor(ray, canceller):
    with pytest.raises(ray.exceptions.TaskCancelledError):
        ray.get(canceller.plain.remote())


def test_one_of_a_task_is_an_exception_like_others(ray):
    @ray.remote
    def cancelled():
        raise asyncio.CancelledError

    with pytest.raises(ray.exceptions.RayTaskError) as caught:
        ray.get(cancelled.remote())
    assert not isinstance(caught.value, ray.exceptions.TaskCancelledError)


def test_the_call_of_a_constructor_has_the_name_of_the_actor(ray):
    @ray.remote
    class Plain:
        def __init__(self):
            self.name = ray.get_runtime_context().get_task_name()

        def get(self):
            return self.name, ray.get_runtime_context().get_task_name()

    assert ray.get(Plain.options(name="compat_constructed").remote().get.remote()) == ("compat_constructed:Plain.__init__", "Plain.get")
    assert ray.get(Plain.remote().get.remote())[0] == "Plain.__init__"
