"""Generator methods of plain, threaded and async actors; generators read by `async for`."""

import asyncio

import pytest

from compat_tests.test_generators import count, counter_class, outcomes  # noqa: F401

pytestmark = pytest.mark.filterwarnings("ignore:num_returns='dynamic'")


@pytest.fixture
def async_counter_class(ray):
    @ray.remote
    class Counter:
        async def count(self, n):
            for i in range(n):
                await asyncio.sleep(0)
                yield i

        def count_plainly(self, n):
            for i in range(n):
                yield i

        async def fail(self):
            yield 0
            raise ValueError("boom")

    return Counter


def test_methods_stream(ray, counter_class):  # noqa: F811
    actor = counter_class.remote()
    assert outcomes(ray, actor.count.remote(3)) == [0, 1, 2]
    assert outcomes(ray, actor.fail.remote(1)) == [0, ValueError]
    assert ray.get(actor.plain.remote()) == 5


def test_a_generator_method_runs_in_its_turn(ray):
    @ray.remote
    class Log:
        def __init__(self):
            self.seen = []

        def add(self, x):
            self.seen.append(x)

        def add_each(self, xs):
            for x in xs:
                self.seen.append(x)
                yield len(self.seen)

        def get(self):
            return self.seen

    log = Log.remote()
    log.add.remote(1)
    generator = log.add_each.remote([2, 3])
    log.add.remote(4)
    assert ray.get(log.get.remote()) == [1, 2, 3, 4]
    assert outcomes(ray, generator) == [2, 3]


def test_threaded_actors_stream(ray, counter_class):  # noqa: F811
    actor = counter_class.options(max_concurrency=3).remote()
    generators = [actor.count.remote(20) for _ in range(4)]
    assert [outcomes(ray, generator) for generator in generators] == [list(range(20))] * 4
    assert outcomes(ray, actor.fail.remote(1)) == [0, ValueError]


def test_async_actors_stream(ray, async_counter_class):
    actor = async_counter_class.remote()
    generators = [actor.count.remote(20) for _ in range(4)] + [actor.count_plainly.remote(20)]
    assert [outcomes(ray, generator) for generator in generators] == [list(range(20))] * 5
    assert outcomes(ray, actor.fail.remote()) == [0, ValueError]


@pytest.mark.needs_concurrency
def test_the_generators_of_an_async_actor_interleave(ray):
    @ray.remote
    class Turns:
        def __init__(self):
            self.event = asyncio.Event()

        async def wait(self):
            yield "waiting"
            await self.event.wait()
            yield "woken"

        async def wake(self):
            self.event.set()
            yield "woke"

    actor = Turns.remote()
    waiting = actor.wait.remote()
    assert ray.get(next(waiting)) == "waiting"
    assert outcomes(ray, actor.wake.remote()) == ["woke"]
    assert outcomes(ray, waiting) == ["woken"]


# ---- async for


def test_async_for(ray, count, counter_class):  # noqa: F811
    actor = counter_class.remote()

    async def read(generator):
        found = []
        async for ref in generator:
            try:
                found.append(await ref)
            except ValueError:
                found.append("boom")
        return found

    async def main():
        return await asyncio.gather(read(count.remote(3)), read(actor.fail.remote(1)), read(count.remote(0)))

    assert asyncio.run(main()) == [[0, 1, 2], [0, "boom"], []]


@pytest.mark.needs_concurrency
def test_async_for_does_not_block_the_loop(ray, gate):
    @ray.remote
    def slow():
        yield 1
        gate.enter()
        yield 2

    async def main():
        generator = slow.remote()
        assert await (await generator.__anext__()) == 1
        following = asyncio.ensure_future(generator.__anext__())
        await asyncio.sleep(0.05)
        assert not following.done()
        gate.open()
        assert await (await following) == 2
        with pytest.raises(StopAsyncIteration):
            await generator.__anext__()

    asyncio.run(main())


@pytest.mark.parametrize("given", [3, "dynamic"])
@pytest.mark.needs_processes
def test_async_generators_only_stream(ray, async_counter_class, given):  # noqa: F811
    found = async_counter_class.remote().count.options(num_returns=given).remote(3)
    with pytest.raises((TypeError, ValueError)):
        ray.get(found)


@pytest.mark.parametrize("number", ["streaming", "dynamic"])
def test_only_methods_that_yield_are_decorated_as_generators(ray, number):
    def wrapped(method):
        return lambda self: method(self)

    def generate(self):
        yield 1

    async def generate_async(self):
        yield 1

    async def give(self):
        return [1]

    for no_generator in (lambda self: [1], give, wrapped(generate)):
        with pytest.raises(ValueError, match=f"num_returns='{number}' can only be used with generator functions"):
            ray.method(num_returns=number)(no_generator)
    for generator in (generate, generate_async):
        ray.method(num_returns=number)(generator)
