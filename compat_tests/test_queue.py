import asyncio

import pytest


def queue_module(ray):
    import importlib

    return importlib.import_module(f"{ray.__name__}.util.queue")


@pytest.fixture
def queues(ray):
    return queue_module(ray)


def test_items_come_out_in_the_order_in_which_they_went_in(queues):
    q = queues.Queue()
    for i in range(3):
        q.put(i)
    assert [q.get() for _ in range(3)] == [0, 1, 2]


def test_its_size(queues):
    q = queues.Queue(maxsize=2)
    assert (q.size(), q.qsize(), len(q), q.empty(), q.full()) == (0, 0, 0, True, False)
    q.put("a")
    assert (q.size(), q.empty(), q.full()) == (1, False, False)
    q.put("b")
    assert (len(q), q.empty(), q.full()) == (2, False, True)
    assert q.maxsize == 2


def test_without_blocking_full_and_empty_are_errors(queues):
    q = queues.Queue(maxsize=1)
    with pytest.raises(queues.Empty):
        q.get_nowait()
    with pytest.raises(queues.Empty):
        q.get(block=False)
    q.put_nowait(1)
    with pytest.raises(queues.Full):
        q.put_nowait(2)
    with pytest.raises(queues.Full):
        q.put(2, block=False)
    assert q.get_nowait() == 1


def test_waiting_ends_with_the_timeout(queues):
    q = queues.Queue(maxsize=1)
    with pytest.raises(queues.Empty):
        q.get(timeout=0.1)
    q.put(1)
    with pytest.raises(queues.Full):
        q.put(2, timeout=0.1)
    assert q.get(timeout=5) == 1


def test_the_errors_are_those_of_pythons_queue(queues):
    import queue

    assert issubclass(queues.Empty, queue.Empty) and issubclass(queues.Full, queue.Full)


def test_negative_timeouts_are_refused(queues):
    q = queues.Queue()
    with pytest.raises(ValueError, match="non-negative"):
        q.put(1, timeout=-1)
    with pytest.raises(ValueError, match="non-negative"):
        q.get(timeout=-1)


def test_batches_go_whole_or_not_at_all(queues):
    q = queues.Queue(maxsize=3)
    q.put_nowait_batch([1, 2])
    with pytest.raises(queues.Full, match="Cannot add 2 items to queue of size 2 and maxsize 3"):
        q.put_nowait_batch([3, 4])
    with pytest.raises(queues.Empty, match="Cannot get 3 items from queue of size 2"):
        q.get_nowait_batch(3)
    assert q.get_nowait_batch(2) == [1, 2]
    assert q.get_nowait_batch(0) == []


def test_batches_are_checked(queues):
    q = queues.Queue()
    with pytest.raises(TypeError):
        q.put_nowait_batch(1)
    with pytest.raises(TypeError):
        q.get_nowait_batch("1")
    with pytest.raises(ValueError):
        q.get_nowait_batch(-1)


@pytest.mark.needs_concurrency
def test_get_waits_for_a_put_elsewhere(ray, queues):
    q = queues.Queue()

    @ray.remote
    def take(q):
        return q.get()

    waiting = take.remote(q)
    assert ray.wait([waiting], timeout=0.2)[0] == []
    q.put("late")
    assert ray.get(waiting) == "late"


@pytest.mark.needs_concurrency
def test_put_waits_for_a_get_elsewhere(ray, queues):
    q = queues.Queue(maxsize=1)
    q.put(0)

    @ray.remote
    def give(q):
        q.put(1)
        return "done"

    waiting = give.remote(q)
    assert ray.wait([waiting], timeout=0.2)[0] == []
    assert q.get() == 0
    assert ray.get(waiting) == "done"
    assert q.get() == 1


def test_it_is_passed_on_like_a_handle(ray, queues):
    @ray.remote
    def fill(q, n):
        q.put_nowait_batch(list(range(n)))

    q = queues.Queue()
    ray.get(fill.remote(q, 3))
    assert q.get_nowait_batch(3) == [0, 1, 2]


def test_coroutines_use_it_too(queues):
    q = queues.Queue(maxsize=1)

    async def main():
        await q.put_async(1)
        with pytest.raises(queues.Full):
            await q.put_async(2, block=False)
        with pytest.raises(queues.Full):
            await q.put_async(2, timeout=0.1)
        got = await q.get_async()
        with pytest.raises(queues.Empty):
            await q.get_async(block=False)
        return got

    assert asyncio.run(main()) == 1


def test_its_actor_takes_options(ray, queues):
    q = queues.Queue(actor_options={"name": "the queue", "num_cpus": 1})
    q.put(1)
    assert ray.get(ray.get_actor("the queue").qsize.remote()) == 1


@pytest.mark.parametrize("force", [False, True])
def test_shutdown_ends_its_actor(ray, queues, force):
    q = queues.Queue()
    q.put(1)
    actor = q.actor
    q.shutdown(force=force)
    assert q.actor is None
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(actor.qsize.remote())


@pytest.mark.rayshim_only
def test_inline_says_that_nobody_can_end_the_wait(ray, queues, backend):
    if not backend.is_serial:
        return
    q = queues.Queue(maxsize=1)
    with pytest.raises(RuntimeError, match="inline"):
        q.get()
    q.put(1)
    with pytest.raises(RuntimeError, match="inline"):
        q.put(2)
