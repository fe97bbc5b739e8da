"""What an ObjectRefGenerator is, beside an iterator."""

import asyncio
import inspect

import pytest


@pytest.fixture
def values(ray):
    @ray.remote
    def values(n):
        yield from range(n)

    return values


def test_its_type(ray, values):
    generator = values.remote(1)
    assert type(generator) is ray.ObjectRefGenerator
    assert (type(generator).__module__, type(generator).__qualname__) == (ray.__name__, "ObjectRefGenerator")
    assert repr(generator).startswith(f"<{ray.__name__}.ObjectRefGenerator object at 0x")
    same = generator
    assert generator == same and generator != values.remote(1) and len({generator, same}) == 1


@pytest.mark.needs_concurrency
def test_a_limited_wait_for_its_next_ref(ray, gate):
    @ray.remote
    def held():
        gate.enter()
        yield 1

    generator = held.remote()
    assert generator._next_sync(timeout_s=0).is_nil() and generator._next_sync(timeout_s=0.1).is_nil()
    assert asyncio.run(generator._next_async(timeout_s=0.1)).is_nil()
    with pytest.raises(ValueError, match="nonnegative"):
        generator._next_sync(timeout_s=-1)
    with pytest.raises(TypeError):
        generator._next_sync(timeout_s="x")
    gate.open()
    assert ray.get(asyncio.run(generator._next_async(timeout_s=60))) == 1
    with pytest.raises(StopAsyncIteration):
        asyncio.run(generator._next_async(timeout_s=60))
    with pytest.raises(StopIteration):
        generator._next_sync(timeout_s=60)


def test_a_task_cannot_be_an_async_generator(ray):
    async def values():
        yield 1

    assert inspect.isasyncgenfunction(values)
    for task in (ray.remote(values), ray.remote(num_returns="streaming")(values)):
        generator = task.remote()
        assert isinstance(generator, ray.ObjectRefGenerator)
        with pytest.raises(TypeError):
            ray.get(next(generator))
        assert list(generator) == []
