"""What a full and an empty Queue raise, and numbers of results for `wait` that are no integers."""

import asyncio

import pytest


@pytest.fixture
def queue(ray):
    from importlib import import_module

    module = import_module(f"{ray.__name__}.util.queue")
    made = module.Queue(maxsize=1)
    made.Empty, made.Full = module.Empty, module.Full
    yield made
    made.shutdown()


def test_without_a_wait_it_is_no_error_of_ray(ray, queue):
    takes = [queue.get_nowait, lambda: queue.get(block=False), lambda: asyncio.run(queue.get_async(block=False))]
    puts = [lambda: queue.put_nowait(2), lambda: queue.put(2, block=False), lambda: asyncio.run(queue.put_async(2, block=False))]
    for take in takes:
        with pytest.raises(queue.Empty) as caught:
            take()
        assert type(caught.value) is queue.Empty
    queue.put(1)
    for put in puts:
        with pytest.raises(queue.Full) as caught:
            put()
        assert type(caught.value) is queue.Full


def test_with_a_timeout_and_in_batches_it_is_one(ray, queue):
    for take in (lambda: queue.get(timeout=0.01), lambda: queue.get_nowait_batch(2)):
        with pytest.raises(queue.Empty) as caught:
            take()
        assert isinstance(caught.value, ray.exceptions.RayTaskError)
    queue.put(1)
    for put in (lambda: queue.put(2, timeout=0.01), lambda: queue.put_nowait_batch([2, 3])):
        with pytest.raises(queue.Full) as caught:
            put()
        assert isinstance(caught.value, ray.exceptions.RayTaskError)


@pytest.mark.parametrize("given", [1.0, 1.5, 2.9])
def test_a_number_of_results_is_rounded_down(ray, given):
    one = ray.remote(lambda: 1)
    ready, left = ray.wait([one.remote() for _ in range(3)], num_returns=given)
    assert (len(ready), len(left)) == (int(given), 3 - int(given))


@pytest.mark.parametrize("given", [3.9, None, "1"])
def test_wrong_numbers_of_results_are_refused(ray, given):
    one = ray.remote(lambda: 1)
    with pytest.raises((TypeError, ValueError)):
        ray.wait([one.remote() for _ in range(3)], num_returns=given)
