"""What Ray's libraries use of refs beside `get` and `wait`: refs of values that a generator has yet to give, and to be told when a ref is done."""

import asyncio
import threading

import numpy as np
import pytest

from compat_tests.processes import wait_until


@pytest.fixture
def gated(ray, gate):
    """(function to call, gate): the generator gives 0, 1, ... and waits at the gate before value `closed`."""

    @ray.remote
    def give(n, closed=None, fail=False):
        for i in range(n):
            if i == closed:
                gate.enter()
            yield i
        if fail:
            raise KeyError("at the end")

    return give, gate


def test_refs_of_values_to_come(ray, gated):
    give, _ = gated
    generator = give.remote(4)
    first = generator._get_next_ref_n(2)
    assert ray.get(first) == [0, 1]
    assert generator._get_next_ref_n(2) == first  # they stay to be taken
    generator._consume_next_ref_n(2)
    assert [ray.get(ref) for ref in generator] == [2, 3]
    with pytest.raises(StopIteration):
        next(generator)


def test_next_gives_the_refs_that_were_given_ahead(ray, gated):
    give, _ = gated
    generator = give.remote(3)
    ahead = generator._get_next_ref_n(2)
    assert next(generator) == ahead[0]
    assert next(generator) == ahead[1]
    assert ray.get(generator._get_next_ref_n(1)) == [2]
    assert ray.get(next(generator)) == 2


@pytest.mark.needs_concurrency
def test_a_ref_given_before_its_value(ray, gated):
    give, gate = gated
    generator = give.remote(3, 1)
    refs = generator._get_next_ref_n(3)
    assert ray.get(refs[0]) == 0
    assert ray.wait(refs[1:], num_returns=2, timeout=0.1) == ([], refs[1:])
    with pytest.raises(ValueError):
        generator._consume_next_ref_n(3)
    assert generator._get_next_ref_n(3) == refs  # none was taken
    gate.open()
    assert ray.get(refs) == [0, 1, 2]
    generator._consume_next_ref_n(3)
    assert list(generator) == []


@pytest.mark.needs_concurrency
def test_a_ref_given_before_its_value_is_an_argument_like_any_other(ray, gated):
    give, gate = gated

    @ray.remote
    def double(x):
        return 2 * x

    @ray.remote
    def inside(refs):
        return ray.get(refs[0])

    generator = give.remote(1, 0)
    (ref,) = generator._get_next_ref_n(1)
    asked = [double.remote(ref), inside.remote([ref])]
    gate.open()
    assert ray.get(asked) == [0, 0]


def test_an_array_given_ahead(ray):
    @ray.remote
    def arrays():
        yield np.arange(300_000)

    generator = arrays.remote()
    (ref,) = generator._get_next_ref_n(1)
    value = ray.get(ref)
    assert value.sum() == np.arange(300_000).sum()
    assert not value.flags.writeable


def test_refs_beyond_the_last_value_fail(ray, gated):
    give, _ = gated
    generator = give.remote(1)
    good, beyond = generator._get_next_ref_n(2)
    assert ray.get(good) == 0
    with pytest.raises(ray.exceptions.ObjectRefStreamEndOfStreamError):
        ray.get(beyond)
    generator._consume_next_ref_n(2)
    with pytest.raises(StopIteration):
        next(generator)


def test_an_exception_of_the_generator_is_the_value_after_the_last(ray, gated):
    give, _ = gated
    generator = give.remote(1, fail=True)
    good, failed = generator._get_next_ref_n(2)
    assert ray.get(good) == 0
    with pytest.raises(KeyError):
        ray.get(failed)


@pytest.mark.needs_concurrency
def test_refs_of_a_cancelled_generator(ray, gated):
    give, gate = gated
    generator = give.remote(2, 1)
    good, cancelled = generator._get_next_ref_n(2)
    assert ray.get(good) == 0
    ray.cancel(generator)
    with pytest.raises(ray.exceptions.RayError):
        ray.get(cancelled, timeout=30)
    gate.open()


@pytest.mark.parametrize("count", [0, -1])
def test_how_many_refs(ray, gated, count):
    give, _ = gated
    generator = give.remote(1)
    with pytest.raises(ValueError):
        generator._get_next_ref_n(count)
    with pytest.raises(ValueError):
        generator._consume_next_ref_n(count)


@pytest.mark.needs_concurrency
def test_to_be_told_when_a_ref_is_done(ray, gate):
    @ray.remote
    def wait(fail):
        gate.enter()
        if fail:
            raise ValueError

    told, called_off = [], []
    refs = [wait.remote(False), wait.remote(True)]
    for ref in refs:
        ref._on_ready(told.append)
    cancel = refs[0]._on_ready(called_off.append)
    cancel()
    cancel()
    wait_until(lambda: called_off)
    assert [type(error) for error in called_off] == [ray.exceptions.RaySystemError]
    assert told == []
    gate.open()
    wait_until(lambda: len(told) == 2)
    assert told == [None, None]  # a failed call is done, too
    refs[0]._on_ready(told.append)
    wait_until(lambda: len(told) == 3)
    assert len(called_off) == 1


def test_to_await_a_ref_without_its_value(ray):
    @ray.remote
    def fail():
        raise ValueError

    async def ready(ref):
        return await asyncio.wait_for(ref._ready(), 30)

    ref = fail.remote()
    assert asyncio.run(ready(ref)) is ref
    value = ray.put(1)
    assert asyncio.run(ready(value)) is value


def test_a_registered_serializer_holds_for_rays_cloudpickle(ray):
    class Locked:
        def __init__(self):
            self.lock = threading.Lock()

    cloudpickle = ray.cloudpickle
    with pytest.raises(TypeError):
        cloudpickle.dumps(Locked())
    ray.util.register_serializer(Locked, serializer=lambda value: None, deserializer=lambda value: Locked())
    assert hasattr(cloudpickle.loads(cloudpickle.dumps(Locked())), "lock")
    assert hasattr(ray.get(ray.put(Locked())), "lock")
    ray.util.deregister_serializer(Locked)
    with pytest.raises(TypeError):
        cloudpickle.dumps(Locked())
    context = ray.util.serialization.StandaloneSerializationContext()
    context._register_cloudpickle_reducer(Locked, lambda value: (Locked, ()))
    assert hasattr(cloudpickle.loads(cloudpickle.dumps(Locked())), "lock")
    context._unregister_cloudpickle_reducer(Locked)
    with pytest.raises(TypeError):
        cloudpickle.dumps(Locked())
