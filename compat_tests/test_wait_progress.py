"""`wait` beside stragglers: what is done is given, though an earlier one of the list takes long.

Counted are results of fast work for each slow one. On Ray that is about the ratio of their durations; much less is asked for.
"""

import random
import time

import pytest

pytestmark = pytest.mark.needs_concurrency

FAST, SLOW = 0.01, 0.5


@pytest.fixture
def worker_class(ray):
    @ray.remote
    class Worker:
        def __init__(self, number=0, seconds=FAST):
            self.number, self.seconds = number, seconds

        def work(self, seconds=None):
            time.sleep(self.seconds if seconds is None else seconds)
            return self.number

    return Worker


def started(ray, actors):
    """Waits until all of these run: one that starts late would be a straggler by itself."""
    ray.get([actor.__ray_ready__.remote() for actor in actors])
    return actors


def refilled(ray, workers, seconds, results):
    """How many results each worker gave, in a loop that asks each again as soon as `wait` gives its result.

    `seconds` tells how long a worker's work takes: (worker's number, results so far) to seconds.
    """
    counts = [0] * len(workers)
    pending = {worker.work.remote(seconds(number, 0)): number for number, worker in enumerate(workers)}
    while sum(counts) < results:
        for ref in ray.wait(list(pending))[0]:
            number = pending.pop(ref)
            assert ray.get(ref) == number
            counts[number] += 1
            pending[workers[number].work.remote(seconds(number, sum(counts)))] = number
    return counts


def assert_slow_is_overtaken(counts, slow):
    """Each of the others gives at least four results for one of the slow worker; as many as it if they wait for it."""
    others = [count for number, count in enumerate(counts) if number != slow]
    assert min(others) >= max(4 * counts[slow], 10), counts


@pytest.mark.parametrize("slow", [0, 3, 5])
def test_a_slow_worker_does_not_hold_up_the_others(ray, worker_class, slow):
    workers = started(ray, [worker_class.remote(number) for number in range(6)])
    counts = refilled(ray, workers, lambda number, done: SLOW if number == slow else FAST, 200)
    assert_slow_is_overtaken(counts, slow)


def test_whoever_becomes_slow_half_way_does_not_hold_up_the_others(ray, worker_class):
    workers = started(ray, [worker_class.remote(number) for number in range(6)])
    counts = refilled(ray, workers, lambda number, done: SLOW if number == (1 if done < 120 else 4) else FAST, 240)
    assert min(counts[number] for number in (0, 2, 3, 5)) >= 30


def test_a_fast_start_does_not_make_later_stragglers_be_waited_for(ray, worker_class):
    workers = started(ray, [worker_class.remote(number) for number in range(6)])
    refilled(ray, workers, lambda number, done: FAST, 200)
    counts = refilled(ray, workers, lambda number, done: SLOW if number == 2 else FAST, 200)
    assert_slow_is_overtaken(counts, 2)


def test_now_and_then_a_long_call_is_overtaken(ray, worker_class):
    workers, chosen = started(ray, [worker_class.remote(number) for number in range(6)]), random.Random(0)
    pending, overtaken, done = {}, 0, 0
    for worker in workers:
        pending[worker.work.remote()] = worker
    while done < 200:
        refs = list(pending)
        (ref,), _ = ray.wait(refs)
        overtaken += ref != refs[0]
        worker = pending.pop(ref)
        pending[worker.work.remote(0.3 if chosen.random() < 0.05 else FAST)] = worker
        done += 1
    assert overtaken >= 50


def test_as_each_task_completes_another_is_submitted(ray, gate):
    @ray.remote
    def evaluate(number):
        time.sleep(FAST)
        return number

    @ray.remote
    def stay():
        gate.wait_for("enough")

    staying, done = stay.remote(), []
    pending = [staying] + [evaluate.remote(number) for number in range(3)]
    while len(done) < 30:
        ready, pending = ray.wait(pending)
        done += ray.get(ready)
        pending.append(evaluate.remote(len(done) + 2))
    gate.touch("enough")
    assert None not in done and len(set(done)) == 30
    ray.get(staying)


@pytest.mark.parametrize("enough", [3, 4])
def test_wait_for_some_leaves_the_straggler_to_the_next_round(ray, worker_class, enough):
    workers = started(ray, [worker_class.remote(number, SLOW if number == 1 else FAST) for number in range(5)])
    free, pending, rounds_of_slow = range(5), [], 0
    for _ in range(60):
        pending += [workers[number].work.remote() for number in free]
        ready, pending = ray.wait(pending, num_returns=enough)
        free = ray.get(ready)
        rounds_of_slow += 1 in free
    assert rounds_of_slow <= 15  # 36 or more if the first of the list were always waited for


def test_actors_wait_for_workers_of_their_own_beside_each_other(ray, worker_class):
    @ray.remote
    class Supervisor:
        def __init__(self, number):
            self.workers = [worker_class.remote(0, SLOW if number == 0 else FAST), worker_class.remote(1, FAST)]
            ray.get([worker.__ray_ready__.remote() for worker in self.workers])

        def collect(self, results):
            counts, pending = [0, 0], {worker.work.remote(): worker for worker in self.workers}
            while sum(counts) < results:
                (ref,), _ = ray.wait(list(pending))
                worker = pending.pop(ref)
                counts[ray.get(ref)] += 1
                pending[worker.work.remote()] = worker
            return counts

    supervisors = started(ray, [Supervisor.remote(number) for number in range(2)])
    pending, chunks = {supervisor.collect.remote(40): number for number, supervisor in enumerate(supervisors)}, []
    while pending:
        (ref,), _ = ray.wait(list(pending))
        chunks.append((pending.pop(ref), ray.get(ref)))
    slow_beside_fast = dict(chunks)[0]
    assert slow_beside_fast[0] <= 8 and slow_beside_fast[1] >= 32


def test_a_pool_gives_the_next_item_to_whoever_is_free(ray, worker_class):
    pool = ray.util.ActorPool(started(ray, [worker_class.remote(number, SLOW if number == 0 else FAST) for number in range(4)]))
    numbers = list(pool.map_unordered(lambda worker, item: worker.work.remote(), range(120)))
    assert len(numbers) == 120 and numbers.count(0) <= 15
    assert min(numbers.count(number) for number in (1, 2, 3)) >= 12


def test_a_driver_that_refills_by_wait_serves_samplers_and_learner(ray, worker_class):
    @ray.remote
    class Learner:
        def learn(self, sample):
            time.sleep(2 * FAST)
            return -1

    learner, *samplers = started(ray, [Learner.remote(), *(worker_class.remote(number, 3 * FAST * (number + 1)) for number in range(3))])
    sampling = {sampler.work.remote(): sampler for sampler in samplers}
    learning, counts, learnt = {learner.learn.remote(0)}, [0] * 3, 0
    while learnt < 60:
        (ref,), _ = ray.wait([*sampling, *learning])
        if sampler := sampling.pop(ref, None):
            counts[ray.get(ref)] += 1
            sampling[sampler.work.remote()] = sampler
        else:
            learning.remove(ref)
            learnt += 1
            learning.add(learner.learn.remote(learnt))
    assert min(counts) >= 5
