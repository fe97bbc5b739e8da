"""Rows that exist only for rayshim: counters of its runtime, the cost of recording, and its growth."""

import random
import statistics
import time

from benchmarks.workloads import ACTORS, BATCH, chain, small_actors

RUNS = 200
CALLS = 10_000
MANY = 1_000
# So many actors are started at a time.
CROWD = 62


def counter(name):
    """One of the runtime's counters."""
    from reactor import _core

    found = _core.stats().get(name)
    if found is None:
        raise NotImplementedError(f"the runtime does not count {name!r} in reactor._core.stats()")
    return found


def count_per_pattern(names, pattern):
    """How much the counters grow, together, each time that a pattern is followed."""
    for _ in range(RUNS // 4):
        pattern()

    def operation():
        before = sum(map(counter, names))
        for _ in range(RUNS):
            pattern()
        return (sum(map(counter, names)) - before) / RUNS

    return operation, None


# A process that sleeps takes one wake-up, whoever sends it; so the sleeps count also those that a result sends.
WAKE_UPS = ("sleeps",)


def wake_ups_of_barrier(ray):
    actors = small_actors(ray, ACTORS)
    return count_per_pattern(WAKE_UPS, lambda: ray.get([actor.small_value.remote() for actor in actors]))


def wake_ups_of_async_calls(ray):
    (actor,) = small_actors(ray, 1)
    return count_per_pattern(WAKE_UPS, lambda: ray.get([actor.small_value.remote() for _ in range(BATCH)]))


def values_of_chain(ray):
    pattern, _ = chain(ray)
    return count_per_pattern(("values_written", "values_read"), pattern)


def distinct_lines(ray):
    """A long script without a loop: each call has a line of its own. Seconds per call, from the first on."""
    (actor,) = small_actors(ray, 1)
    numbers = random.Random(0)
    lines, calls = ["def script(actor, get):"], 0
    while calls < CALLS:
        pattern = range(calls, calls + numbers.randint(1, 64))
        lines += [" refs = []", *(f" refs.append(actor.small_value_arg.remote({i}))" for i in pattern), " get(refs)"]
        calls = pattern.stop
    names = {}
    exec(compile("\n".join(lines), "<script of distinct lines>", "exec"), names)

    def operation():
        start = time.perf_counter()
        names["script"](actor, ray.get)
        return (time.perf_counter() - start) / calls

    return operation, None


def random_calls(ray):
    """One call site, but which of 8 actors, and how many calls there are before the next `get`, is random."""
    actors = small_actors(ray, ACTORS)
    numbers = random.Random(0)
    patterns, calls = [], 0
    while calls < CALLS:
        patterns.append(numbers.choices(actors, k=numbers.randint(1, 16)))
        calls += len(patterns[-1])

    def operation():
        start = time.perf_counter()
        for pattern in patterns:
            ray.get([actor.small_value.remote() for actor in pattern])
        return (time.perf_counter() - start) / calls

    return operation, None


def growth_with_1000_actors(ray):
    """Cost of a call in a barrier over 1,000 actors, over that in a barrier over 8."""

    def cost(actors, times):
        def barrier():
            start = time.perf_counter()
            ray.get([actor.small_value.remote() for actor in actors])
            return (time.perf_counter() - start) / len(actors)

        return statistics.median(barrier() for _ in range(times))

    def operation():
        few = small_actors(ray, ACTORS)
        # Before the others are there, whose mere presence could slow these.
        cost(few, 50)
        alone = cost(few, 300)
        everybody = list(few)
        while len(everybody) < MANY:
            everybody += small_actors(ray, min(CROWD, MANY - len(everybody)))
        cost(everybody, 5)
        pairs = [(cost(everybody, 3), cost(few, 50)) for _ in range(10)]
        return statistics.median(many for many, _ in pairs) / min(alone, statistics.median(of for _, of in pairs))

    return operation, None
