"""A Pool's sizes of batches, its callbacks, and the actors that its batches go to."""

import importlib
import logging
import os
import threading
import time

import pytest


@pytest.fixture
def multiprocessing(ray):
    return importlib.import_module(f"{ray.__name__}.util.multiprocessing")


@pytest.fixture
def pool(multiprocessing):
    pool = multiprocessing.Pool(2)
    yield pool
    pool.terminate()


def square(x):
    return x * x


def fail(x):
    raise ValueError(x)


def test_map_refuses_a_batch_without_items(pool):
    for size in (0, -1):
        with pytest.raises(AssertionError):
            pool.map(square, [1], chunksize=size)
    assert pool.map(square, [], chunksize=0) == []


def test_a_size_that_is_no_whole_number_is_rounded_up(pool):
    assert pool.map(square, [1, 2, 3], chunksize=1.5) == [1, 4, 9]
    assert pool.starmap(square, [(1,), (2,), (3,)], chunksize=1.5) == [1, 4, 9]


@pytest.mark.parametrize("name", ["imap", "imap_unordered"])
def test_imap_counts_the_batches_of_what_has_a_length(pool, name):
    imap = getattr(pool, name)
    with pytest.raises(ZeroDivisionError):
        imap(square, [1, 2], chunksize=0)
    with pytest.raises(TypeError, match="unsupported operand"):
        imap(square, [1, 2], chunksize=None)
    for size in (0, None):
        assert sorted(imap(square, iter([1, 2]), chunksize=size)) == [1, 4]


@pytest.mark.parametrize("name", ["imap", "imap_unordered"])
@pytest.mark.parametrize("kind", [list, iter])
@pytest.mark.parametrize("size", [-1, 1.5])
def test_imap_takes_whole_batches_only(pool, name, kind, size):
    with pytest.raises(ValueError, match="islice"):
        getattr(pool, name)(square, kind([1, 2]), chunksize=size)


@pytest.mark.needs_processes
def test_imap_begins_with_the_first_actor(pool):
    pool.apply(square, (1,))
    first, second, third, fourth = pool.imap(lambda _: os.getpid(), range(4))
    assert first == third and second == fourth and first != second
    assert pool.map(lambda _: os.getpid(), range(2), chunksize=1) == [first, second]


def test_maxtasksperchild_must_not_be_below_minus_one(multiprocessing):
    with pytest.raises(AssertionError):
        multiprocessing.Pool(1, maxtasksperchild=-2).map(square, [1])
    assert multiprocessing.Pool(1, maxtasksperchild=-1).map(square, [1]) == [1]


def test_results_are_not_ready_before_the_callback_has_returned(pool, multiprocessing):
    go, seen = threading.Event(), []
    result = pool.map_async(square, [1, 2], chunksize=2, callback=lambda values: (go.wait(10), seen.append(values)))
    with pytest.raises(multiprocessing.TimeoutError):
        result.get(timeout=0.2)
    assert not result.ready()
    go.set()
    assert result.get() == [1, 4] and seen == [[1, 4]]


@pytest.mark.needs_concurrency
def test_the_error_callback_does_not_wait_for_the_other_batches(pool):
    seen = threading.Event()
    result = pool.map_async(lambda x: fail(x) if x else time.sleep(3), [0, 1], chunksize=1, error_callback=lambda _: seen.set())
    assert seen.wait(2) and not result.ready()
    with pytest.raises(ValueError):
        result.get()


@pytest.mark.needs_concurrency
def test_a_negative_timeout_is_none_at_all(pool, multiprocessing):
    result = pool.apply_async(square, (2,))
    assert result.get() == 4 and result.get(timeout=-1) == 4
    with pytest.raises(multiprocessing.TimeoutError):
        pool.apply_async(time.sleep, (0.5,)).get(timeout=-1)


def test_a_context_is_told_to_have_no_effect(ray, multiprocessing, recwarn):
    lines, handler = [], logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logger = logging.getLogger("ray")
    logger.addHandler(handler)
    try:
        importlib.import_module(f"{ray.__name__}.util.debug").reset_log_once("context_argument_warning")
        for _ in range(2):
            multiprocessing.Pool(1, context="spawn").terminate()
    finally:
        logger.removeHandler(handler)
    told = [line for line in lines if "'context' argument" in line]
    assert told == [
        "The 'context' argument is not supported using ray. Please refer to the documentation for how to control ray initialization."
    ]
    assert not [warning for warning in recwarn if issubclass(warning.category, UserWarning)]
