"""Calls that tasks have made and not waited for: the tasks have ended long before an actor begins with their calls."""

import pytest

TASKS = 60
needs_concurrency = pytest.mark.needs_concurrency


def actor_classes(ray):
    class Log:
        def __init__(self):
            self.seen = []

        def hold(self, gate):
            gate.enter()

        def add(self, *numbers):
            self.seen.extend(numbers)

        def all(self):
            return self.seen

    class AsyncLog:
        def __init__(self):
            self.seen = []

        async def hold(self, gate):
            gate.enter()  # it blocks the event loop

        async def add(self, *numbers):
            self.seen.extend(numbers)

        async def all(self):
            return self.seen

    return {
        "ordinary": ray.remote(Log),
        "one thread": ray.remote(Log).options(max_concurrency=1),
        "threads": ray.remote(Log).options(max_concurrency=3),
        "async": ray.remote(AsyncLog),
        "async, one at a time": ray.remote(AsyncLog).options(max_concurrency=1),
        "retried": ray.remote(Log).options(max_restarts=1, max_task_retries=1),
    }


KINDS = ["ordinary", "one thread", "threads", "async", "async, one at a time", "retried"]


@needs_concurrency
@pytest.mark.parametrize("kind", KINDS)
def test_each_call_runs_once(ray, gate, kind):
    @ray.remote(num_cpus=0)
    def adds(log, number):
        log.add.remote(number)
        log.add.remote(TASKS + number, 2 * TASKS + number)

    log = actor_classes(ray)[kind].remote()
    held = log.hold.remote(gate)
    ray.get([adds.remote(log, number) for number in range(TASKS)])
    gate.open()
    ray.get(held)
    seen = []
    while len(seen) < 3 * TASKS:
        seen = ray.get(log.all.remote())
    assert sorted(seen) == list(range(3 * TASKS))
    at = {number: place for place, number in enumerate(seen)}
    if kind in ("ordinary", "one thread", "retried"):
        assert all(at[number] < at[TASKS + number] < at[2 * TASKS + number] for number in range(TASKS))


@needs_concurrency
@pytest.mark.parametrize("kind", KINDS)
def test_a_call_whose_argument_comes_late(ray, gate, kind, tmp_path):
    @ray.remote(num_cpus=0)
    def late(gate):
        gate.enter()
        return -1

    @ray.remote(num_cpus=0)
    def adds(log, number, refs):
        log.add.remote(refs[0] if number % 10 == 0 else number)
        log.add.remote(TASKS + number)

    log = actor_classes(ray)[kind].remote()
    refs = [late.remote(gate)]
    ray.get([adds.remote(log, number, refs) for number in range(TASKS)])
    gate.open()
    seen = []
    while len(seen) < 2 * TASKS:
        seen = ray.get(log.all.remote())
    expected = [-1 if number % 10 == 0 else number for number in range(TASKS)]
    assert sorted(seen) == sorted(expected + [TASKS + number for number in range(TASKS)])


@needs_concurrency
@pytest.mark.parametrize("kind", ["ordinary", "one thread", "async"])
def test_the_actor_dies_before_their_calls_have_begun(ray, gate, kind):
    @ray.remote(num_cpus=0)
    def asks(log):
        return [log.add.remote(1)]

    log = actor_classes(ray)[kind].remote()
    log.hold.remote(gate)
    while not gate.inside():
        pass
    answers = ray.get([asks.remote(log) for _ in range(TASKS)])
    ray.kill(log)
    for (ref,) in answers:
        with pytest.raises(ray.exceptions.RayActorError):
            ray.get(ref)
