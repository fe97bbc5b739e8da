"""Streams by themselves: the chain of links, the window, and what is left when somebody lets go or is killed."""

import gc
import time

import pytest
from reactor import _core
from reactor.tests.calling import Died, Run, end, wait_until

PENDING, CLOSING, CANCELLED, ITEM, END, FAILED = _core.StreamState


@pytest.fixture
def run():
    run = Run()
    yield run
    run.stop()


def stream(run, function, *args, window=0, retries=0):
    """(completion, first link) of `function`, which yields, called with `args`."""
    remote = _core.Function(
        _core.put(function), function.__name__, _core.STREAM, 0, -1, None, _core.NOTHING, retries, window
    )
    return remote.remote(*args)


def read(completion, link, most=10**9):
    """Values of a stream, at most so many; and the link after them."""
    values = []
    while len(values) < most and (found := _core.next_item(link, completion, 20)) is not None:
        assert found is not _core.TIMED_OUT
        ref, link = found
        values.append(_core.get_one(ref, 20))
    return values, link


def count(n, size=0):
    for i in range(n):
        yield (i, b"x" * size) if size else i


def test_values_end_and_completion(run):
    completion, link = stream(run, count, 3)
    values, link = read(completion, link)
    assert values == [0, 1, 2]
    assert _core.item_state(link, completion) == END
    assert run.get(completion) is None


def test_the_next_value_may_be_late(run):
    def late():
        time.sleep(0.5)
        yield 1

    completion, link = stream(run, late)
    assert _core.item_state(link, completion) == PENDING
    assert _core.next_item(link, completion, 0.01) is _core.TIMED_OUT
    assert read(completion, link)[0] == [1]


def test_a_window_is_kept(run):
    def stamped():
        for _ in range(6):
            yield time.monotonic()

    completion, link = stream(run, stamped, window=2)
    wait_until(lambda: _core.item_state(link, completion) == ITEM)
    wait_until(_core.all_sleep)
    before = time.monotonic()
    values, _ = read(completion, link)
    assert [at < before for at in values] == [True, True, False, False, False, False]


@pytest.mark.parametrize("window", [0, 1, 3])
def test_what_is_unread_is_freed_with_the_link(run, window):
    run.get(stream(run, count, 1)[0])
    gc.collect()
    before = run.levels()
    completion, link = stream(run, count, 300, 5000, window=window)
    read(completion, link, most=5)
    del link
    run.get(completion)
    del completion
    gc.collect()
    wait_until(lambda: _core.stats()["store_used"] <= before["store"])
    assert abs(run.levels()["slots"] - before["slots"]) < 20


def test_a_killed_producer(run):
    def endless():
        i = 0
        while True:
            yield i
            i += 1

    completion, link = stream(run, endless, window=4)
    values, link = read(completion, link, most=3)
    end(_core.proc_info(completion.runner)["pid"])
    rest, link = read(completion, link)
    assert values + rest == list(range(len(values + rest)))
    assert _core.item_state(link, completion) == FAILED
    with pytest.raises(Died):
        run.get(completion)


@pytest.mark.parametrize("window", [0, 1, 7])
def test_a_producer_killed_again_and_again_gives_each_value_once(run, window):
    completion, link = stream(run, count, 3000, window=window, retries=1000)
    values = []
    for kill in range(8):
        some, link = read(completion, link, most=100 + 7 * kill)
        values += some
        if completion.runner >= 0 and not completion.done():
            end(_core.proc_info(completion.runner)["pid"])
    rest, link = read(completion, link)
    assert values + rest == list(range(3000))
    assert run.get(completion) is None
