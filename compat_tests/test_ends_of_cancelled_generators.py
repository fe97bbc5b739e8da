"""How a generator ends that was cancelled while it ran: in an error of the call, in the plain error of its cancellation, or without one."""

import asyncio

import pytest

from compat_tests.processes import wait_until

pytestmark = pytest.mark.needs_concurrency

OF_THE_CALL, PLAIN = "of the call", "plain"


def interruptible(gate, then):
    yield 0
    try:
        gate.enter()
    except KeyboardInterrupt:
        if then == "raise":
            raise ValueError("another") from None
        if then == "pass on":
            raise
        gate.touch("goes on")


class Plain:
    def values(self, gate, then):
        yield 0
        gate.touch("here-1")
        wait_until(lambda: ray_of(gate).get_runtime_context().is_canceled())
        if then == "raise":
            raise ValueError("another")
        if then == "yield":
            yield 1
            gate.touch("went on")


class Async:
    async def values(self, gate, then):
        yield 0
        gate.touch("here-1")
        try:
            await asyncio.sleep(100)
        except asyncio.CancelledError:
            if then == "raise":
                raise ValueError("another") from None
            if then == "pass on":
                raise
            if then == "yield":
                yield 1


def ray_of(gate):
    """The module of the backend, in a worker."""
    import importlib

    return importlib.import_module(gate.backend)


def kind_of_end(ray, generator):
    """What the next ref of a generator gives; `completed` must give the same."""
    ref = next(generator, None)
    if ref is None:
        assert ray.get(generator.completed(), timeout=60) is None
        return None
    kinds = set()
    for r in (ref, generator.completed()):
        with pytest.raises(ray.exceptions.TaskCancelledError) as caught:
            ray.get(r, timeout=60)
        kinds.add(OF_THE_CALL if isinstance(caught.value, ray.exceptions.RayTaskError) else PLAIN)
    assert next(generator, None) is None and generator.is_finished() and not generator.next_ready()
    return kinds.pop() if len(kinds) == 1 else kinds


def cancelled(ray, gate, generator, force=False):
    wait_until(lambda: gate.inside() == 1)
    ray.cancel(generator, force=force)
    return generator


@pytest.fixture
def gate(ray, gate):
    gate.backend = ray.__name__
    return gate


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize(["then", "end"], [("pass on", OF_THE_CALL), ("raise", OF_THE_CALL), ("return", None)])
def test_a_task(ray, gate, then, end, read):
    generator = ray.remote(max_retries=0)(interruptible).remote(gate, then)
    if read:
        assert ray.get(next(generator)) == 0
    assert kind_of_end(ray, cancelled(ray, gate, generator)) == end


def test_a_task_that_is_ended_by_force(ray, gate):
    generator = ray.remote(max_retries=0)(interruptible).remote(gate, "return")
    assert kind_of_end(ray, cancelled(ray, gate, generator, force=True)) == PLAIN


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(["then", "end"], [("yield", PLAIN), ("raise", OF_THE_CALL), ("return", PLAIN)])
def test_a_method(ray, gate, threads, then, end):
    generator = ray.remote(Plain).options(max_concurrency=threads).remote().values.remote(gate, then)
    assert ray.get(next(generator)) == 0
    assert kind_of_end(ray, cancelled(ray, gate, generator)) == end


@pytest.mark.parametrize("then", ["pass on", "yield", "raise", "return"])
def test_a_method_of_an_async_actor(ray, gate, then):
    generator = ray.remote(Async).remote().values.remote(gate, then)
    assert ray.get(next(generator)) == 0
    assert kind_of_end(ray, cancelled(ray, gate, generator)) == OF_THE_CALL


def test_a_generator_that_was_cancelled_is_ready_while_it_ends(ray, gate):
    @ray.remote(max_retries=0)
    def slow():
        yield 0
        try:
            gate.enter()
        except KeyboardInterrupt:
            gate.wait_for("end")

    generator = cancelled(ray, gate, slow.remote())
    assert ray.wait([generator], timeout=60)[0] == [generator]
    gate.touch("end")
    assert list(generator) == []
    assert ray.get(generator.completed(), timeout=60) is None
