"""What a streaming generator and its caller are told beside the values."""

import importlib

import pytest

from compat_tests.processes import wait_until

pytestmark = pytest.mark.filterwarnings("ignore:num_returns='dynamic'")


def test_yield_gives_how_long_it_took_to_store_the_value(ray):
    @ray.remote
    def values():
        told = yield 1
        yield type(told).__name__, told.object_creation_dur_s

    _, (name, seconds) = [ray.get(ref) for ref in values.remote()]
    assert name == "StreamingGeneratorStats" and 0 < seconds < 10


def test_so_does_yield_in_an_async_generator(ray):
    @ray.remote
    class Maker:
        async def values(self):
            told = yield 1
            yield type(told).__name__, told.object_creation_dur_s

    maker = Maker.remote()
    _, (name, seconds) = [ray.get(ref) for ref in maker.values.remote()]
    assert name == "StreamingGeneratorStats" and 0 < seconds < 10


def test_yield_gives_none_where_the_values_are_not_streamed(ray):
    @ray.remote(num_returns=2)
    def pair():
        told = yield 1
        yield told

    @ray.remote(num_returns="dynamic")
    def gathered():
        told = yield 1
        yield told

    assert ray.get(pair.remote()) == [1, None]
    assert [ray.get(ref) for ref in ray.get(gathered.remote())] == [1, None]


@pytest.mark.needs_concurrency
def test_the_next_value_is_asked_for_with_a_time_limit(ray, gate):
    @ray.remote
    def values(gate):
        yield 1
        gate.wait_for("open")
        yield 2

    stream = values.remote(gate)
    assert ray.get(stream._next_sync(30)) == 1
    assert stream._next_sync(0).is_nil()
    assert not stream._stream_exhausted()
    gate.open()
    assert ray.get(stream._next_sync()) == 2
    with pytest.raises(StopIteration):
        stream._next_sync(30)
    assert stream._stream_exhausted()


def test_a_callback_is_told_when_nobody_holds_the_object_any_more(ray):
    @ray.remote
    class Holder:
        def hold(self, refs):
            self.refs = refs

        def let_go(self):
            self.refs = None

    if ray.__name__ == "ray":
        worker = importlib.import_module("ray._private.worker").global_worker
    else:
        worker = ray.get_runtime_context().worker
    told = []
    ref = ray.put(b"x" * 200_000)
    name = ref.binary()
    assert worker.core_worker.add_object_out_of_scope_callback(ref, told.append)
    holder = Holder.remote()
    ray.get(holder.hold.remote([ref]))
    of_other = []
    other = ray.put(b"y" * 200_000)
    assert worker.core_worker.add_object_out_of_scope_callback(other, of_other.append)
    del ref, other
    wait_until(lambda: of_other)
    assert told == []
    ray.get(holder.let_go.remote())
    wait_until(lambda: told == [name])


@pytest.mark.rayshim_only("Ray 2.60 sends the statistics to what stands behind `yield from`, which a range and a list cannot take")
def test_yield_from_what_takes_no_values(ray):
    def deeper():
        yield from range(2)
        told = yield 2
        yield type(told).__name__

    @ray.remote
    def numbers():
        yield from deeper()
        yield from [3]

    @ray.remote(max_retries=1, retry_exceptions=[KeyError])
    def retried():
        yield from deeper()

    assert [ray.get(ref) for ref in numbers.remote()] == [0, 1, 2, "StreamingGeneratorStats", 3]
    assert [ray.get(ref) for ref in retried.remote()] == [0, 1, 2, "StreamingGeneratorStats"]
