"""A call that has failed is run again after about a second, and does not hold up others meanwhile."""

import asyncio
import itertools
import os
import time

import pytest

LEAST = 0.9  # seconds of two pauses; on Ray the first may be short, because a clock that ticks each second begins the next run


@pytest.fixture
def ray(bare_ray, backend, monkeypatch):
    monkeypatch.delenv("RAY_task_retry_delay_ms", raising=False)
    backend.init(num_cpus=2)
    return bare_ray


@pytest.fixture
def attempt(tmp_path):
    """`attempt(name)`: notes the time, returns how many there are by now; `attempt.pauses(name)`: between them."""

    class Attempt:
        directory = str(tmp_path)

        def __call__(self, name):
            with open(os.path.join(self.directory, name), "a") as file:
                file.write(f"{time.time()}\n")
            return len(self.times(name))

        def times(self, name):
            with open(os.path.join(self.directory, name)) as file:
                return [float(line) for line in file]

        def pauses(self, name):
            times = self.times(name)
            return [later - earlier for earlier, later in itertools.pairwise(times)]

    return Attempt()


def has_paused(attempt, name):
    first, second = attempt.pauses(name)
    return LEAST < first + second


def test_a_task_after_an_exception(ray, attempt):
    @ray.remote(max_retries=2, retry_exceptions=True)
    def task():
        if attempt("task") < 3:
            raise ConnectionError
        return "done"

    assert ray.get(task.remote()) == "done"
    assert has_paused(attempt, "task")


@pytest.mark.needs_processes
def test_a_task_after_a_crash(ray, attempt):
    @ray.remote(max_retries=2)
    def task():
        if attempt("task") < 3:
            os._exit(1)
        return "done"

    assert ray.get(task.remote()) == "done"
    assert has_paused(attempt, "task")


def test_a_generator(ray, attempt):
    @ray.remote(max_retries=2, retry_exceptions=True)
    def values():
        yield 1
        if attempt("values") < 3:
            raise ConnectionError
        yield 2

    assert [ray.get(ref) for ref in values.options(num_returns="streaming").remote()] == [1, 2]
    assert has_paused(attempt, "values")


@pytest.mark.parametrize("options", [{}, {"max_concurrency": 2}])
def test_methods(ray, attempt, options):
    @ray.remote(num_cpus=0, **options)
    class Plain:
        @ray.method(max_task_retries=2, retry_exceptions=True)
        def method(self):
            if attempt("method") < 3:
                raise ConnectionError
            return "done"

        @ray.method(max_task_retries=2, retry_exceptions=True)
        def values(self):
            yield 1
            if attempt("values") < 3:
                raise ConnectionError
            yield 2

    actor = Plain.remote()
    assert ray.get(actor.method.remote()) == "done"
    assert has_paused(attempt, "method")
    assert [ray.get(ref) for ref in actor.values.options(num_returns="streaming").remote()] == [1, 2]
    assert has_paused(attempt, "values")


def test_a_method_of_an_async_actor_leaves_the_actor_free(ray, attempt):
    @ray.remote
    class Async:
        @ray.method(max_task_retries=2, retry_exceptions=True)
        async def method(self):
            if attempt("method") < 3:
                raise ConnectionError
            return "done"

        async def ping(self):
            await asyncio.sleep(0)

    actor = Async.remote()
    ref = actor.method.remote()
    ray.get(actor.ping.remote())
    assert ray.get(ref) == "done"
    assert has_paused(attempt, "method")


@pytest.mark.needs_own_processes
def test_a_method_after_the_death_of_its_actor(ray, attempt):
    @ray.remote(max_restarts=2, max_task_retries=2)
    class Dies:
        def method(self):
            if attempt("method") < 3:
                os._exit(1)
            return "done"

    assert ray.get(Dies.remote().method.remote()) == "done"
    assert has_paused(attempt, "method")


@pytest.mark.needs_concurrency
def test_others_have_the_resources_meanwhile(ray, attempt):
    @ray.remote(num_cpus=2, max_retries=1, retry_exceptions=True)
    def fails():
        if attempt("fails") < 2:
            raise ConnectionError
        return "done"

    @ray.remote(num_cpus=2)
    def other():
        return attempt("other")

    first = fails.remote()
    ray.get(other.remote())
    assert ray.get(first) == "done"
    assert attempt.times("other")[0] < attempt.times("fails")[1]


@pytest.mark.needs_concurrency
def test_many_tasks_pause_together(ray, attempt):
    @ray.remote(num_cpus=1, max_retries=1, retry_exceptions=True)
    def fails(i):
        if attempt(f"fails-{i}") < 2:
            raise ConnectionError
        return i

    assert ray.get([fails.remote(i) for i in range(12)]) == list(range(12))
    assert min(attempt.times(f"fails-{i}")[1] for i in range(12)) > max(attempt.times(f"fails-{i}")[0] for i in range(2))


def test_the_variable_of_ray_sets_the_pause(bare_ray, backend, monkeypatch, attempt):
    monkeypatch.setenv("RAY_task_retry_delay_ms", "2500")
    backend.init(num_cpus=2)

    @bare_ray.remote(max_retries=2, retry_exceptions=True)
    def task():
        if attempt("task") < 2:
            raise ConnectionError
        return "done"

    assert bare_ray.get(task.remote()) == "done"
    assert attempt.pauses("task")[0] > 2.2
