"""A `wait` that is blocked because of order keeps it, as long as that delays nothing."""

import time

import pytest

import rayshim as ray

pytestmark = pytest.mark.usefixtures("zygote_has_pytest")

SECONDS = (
    0.4,
    0.3,
    0.2,
    0.1,
)  # of the calls in a list: the first one is done last, and more than the budget after the others


@pytest.fixture(params=["isolated", "packed"])
def workers(request):
    ray.init(num_cpus=8, placement=request.param, logging_level="ERROR")
    workers = [Worker.remote(i) for i in range(len(SECONDS))]
    ray.get([w.rollout.remote(0) for w in workers])
    yield workers
    ray.shutdown()


@ray.remote
class Worker:
    def __init__(self, i):
        self.i = i

    def rollout(self, seconds):
        time.sleep(seconds)
        return self.i

    def drain(self, workers):
        return drain(started(workers))


def started(workers):
    return [w.rollout.remote(s) for w, s in zip(workers, SECONDS)]


def drain(left):
    order = []
    while left:
        done, left = ray.wait(left)
        order += ray.get(done)
    return order


def in_pairs(left):
    order = []
    while left:
        done, left = ray.wait(left, num_returns=min(2, len(left)))
        order += ray.get(done)
    return order


def by_a_generator(left):
    def completed(left):
        while left:
            done, left = ray.wait(left)
            yield ray.get(done[0])

    return list(completed(left))


def the_rest_at_once(left):
    done, left = ray.wait(left)
    return ray.get(done) + ray.get(left)


def the_rest_one_by_one(left):
    done, left = ray.wait(left)
    return ray.get(done) + [ray.get(ref) for ref in left]


def two_lists_in_turn(left):
    one, two, order = left[::2], left[1::2], []
    while one or two:
        done, one = ray.wait(one)
        order += done
        done, two = ray.wait(two)
        order += done
    return ray.get(order)


def as_a_task(left):
    return ray.get(ray.remote(lambda refs: drain(refs)).remote(left))


def arrivals():
    return [entry["what"] for entry in ray.report().arrivals]


@pytest.mark.parametrize(
    "way", [drain, in_pairs, by_a_generator, the_rest_at_once, the_rest_one_by_one, two_lists_in_turn, as_a_task]
)
def test_a_loop_that_takes_all_refs_of_a_list_and_starts_nothing_keeps_serial_order(workers, way):
    for _ in range(3):
        assert way(started(workers)) == [0, 1, 2, 3]
    assert arrivals() == []


def test_an_actor_that_drains_keeps_serial_order(workers):
    reader = Worker.options(max_concurrency=1).remote(9)
    for _ in range(3):
        assert ray.get(reader.drain.remote(workers)) == [0, 1, 2, 3]
    assert arrivals() == []


def test_a_wait_whose_caller_starts_calls_after_it_is_served_by_arrival(workers):
    """The loop does not mention that it starts something, so only what happens shows it."""

    def again(ref):
        i = ray.get(ref)
        return workers[i].rollout.remote(SECONDS[i])

    left, order = started(workers), []
    for _ in range(12):
        (ref,), left = ray.wait(left)
        order.append(ray.get(ref))
        left.append(again(ref))
    assert len(arrivals()) == 1 and arrivals()[0].startswith(f"wait() at {__file__}:")
    assert order.count(3) > order.count(0)


def test_a_wait_whose_caller_computes_between_is_served_by_arrival(workers):
    """In the order of arrival it could compute while the slow ones run."""
    for _ in range(3):
        left = started(workers)
        while left:
            done, left = ray.wait(left)
            ray.get(done)
            time.sleep(0.1)
    assert len(arrivals()) == 1


def test_a_wait_whose_other_refs_are_given_up_is_served_by_arrival(workers):
    for _ in range(3):
        ready, _ = ray.wait(started(workers))
    assert len(arrivals()) == 1 and ray.get(ready) != [0]


def test_a_ref_that_is_never_done_does_not_keep_a_drain_for_ever(workers):
    endless = workers[0].rollout.remote(1000)
    assert drain_until([endless, *(w.rollout.remote(0) for w in workers[1:])], 3) == [1, 2, 3]
    assert len(arrivals()) == 1


def drain_until(left, n):
    order = []
    while len(order) < n:
        done, left = ray.wait(left)
        order += ray.get(done)
    return order
