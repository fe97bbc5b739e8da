"""What ends a worker while the outcome of its call is pickled: `sys.exit`, `exit_actor`, SIGTERM."""

import os
import signal
import sys
import time

import pytest


@pytest.fixture
def ends(ray):
    """ends(how): a value whose pickling ends the worker that pickles it. Also the exception with this habit: ends.error(how)."""

    def end(how):
        if how == "exit":
            sys.exit(3)
        if how == "exit 0":
            sys.exit(0)
        if how == "exit_actor":
            ray.actor.exit_actor()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    class Ends:
        def __init__(self, how):
            self.how = how

        def __reduce__(self):
            end(self.how)

    class Error(Exception):
        def __init__(self, how):
            self.how = how

        def __reduce__(self):
            end(self.how)

    Ends.error = Error
    return Ends


@pytest.fixture
def actor_class(ray, ends):
    class Actor:
        def value(self, how):
            return ends(how)

        def values(self, how):
            return "first", ends(how), "last"

        def stream(self, how):
            yield "first"
            yield ends(how)

        def error(self, how):
            raise ends.error(how)

        def ready(self):
            return "ready"

    return ray.remote(Actor)


HOW = ["exit", "exit 0", "exit_actor", pytest.param("SIGTERM", marks=pytest.mark.needs_own_processes)]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("method, options", [("value", {}), ("values", {"num_returns": 3}), ("error", {})])
def test_an_actor_ends_with_the_method_whose_outcome_ends_it(ray, actor_class, method, options, how):
    actor = actor_class.remote()
    refs = getattr(actor, method).options(**options).remote(how)
    for ref in refs if options else [refs]:
        with pytest.raises(ray.exceptions.ActorDiedError):
            ray.get(ref)
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(actor.ready.remote())


@pytest.mark.parametrize("how", HOW)
def test_an_actor_ends_with_the_stream_whose_value_ends_it(ray, actor_class, how):
    actor = actor_class.remote()
    stream = actor.stream.options(num_returns="streaming").remote(how)
    assert ray.get(next(stream)) == "first"
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(next(stream))
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(actor.ready.remote())


@pytest.mark.parametrize("max_concurrency", [1, 3])
@pytest.mark.needs_processes
def test_an_actor_of_threads_or_coroutines_ends_with_the_method_whose_outcome_ends_it(ray, ends, max_concurrency):
    class Threaded:
        def value(self, how):
            return ends(how)

        def error(self, how):
            raise ends.error(how)

    class Asynchronous:
        async def value(self, how):
            return ends(how)

        async def error(self, how):
            raise ends.error(how)

    for cls in Threaded, Asynchronous:
        for method in "value", "error":
            actor = ray.remote(cls).options(max_concurrency=max_concurrency).remote()
            with pytest.raises(ray.exceptions.ActorDiedError):
                ray.get(getattr(actor, method).remote("exit"), timeout=20)


@pytest.mark.parametrize("how", ["exit", "exit 0", pytest.param("SIGTERM", marks=pytest.mark.needs_processes)])
def test_a_worker_ends_with_the_task_whose_outcome_ends_it(ray, ends, how):
    @ray.remote(max_retries=0)
    def value():
        return ends(how)

    @ray.remote(max_retries=0)
    def error():
        raise ends.error(how)

    for task in value, error:
        with pytest.raises(ray.exceptions.WorkerCrashedError):
            ray.get(task.remote())


def test_a_restarted_actor_runs_again_the_method_whose_outcome_has_ended_it(ray, tmp_path):
    class EndsOnce:
        def __reduce__(self):
            if (tmp_path / "ended").exists():
                return str, ("stored",)
            (tmp_path / "ended").touch()
            sys.exit(3)

    @ray.remote(max_restarts=1, max_task_retries=1)
    class Actor:
        def values(self):
            return "first", EndsOnce()

    actor = Actor.remote()
    assert ray.get(actor.values.options(num_returns=2).remote()) == ["first", "stored"]
