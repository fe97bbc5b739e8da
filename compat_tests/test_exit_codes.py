"""What callers are told of the code with which a task or a method has called `sys.exit`. On Ray, they now and then wait for ever."""

import sys

import pytest

pytestmark = pytest.mark.rayshim_only


@pytest.mark.parametrize("kind", ["plain", "threaded", "async", "constructor"])
def test_the_error_of_an_actor_has_the_exit_code(ray, kind):
    class Leaver:
        def __init__(self, code=None):
            if code is not None:
                sys.exit(code)

        def leave(self, code):
            sys.exit(code)

    class AsyncLeaver(Leaver):
        async def leave(self, code):
            sys.exit(code)

    cls = ray.remote(AsyncLeaver if kind == "async" else Leaver).options(max_concurrency=2 if kind == "threaded" else None)
    actor = cls.remote(3) if kind == "constructor" else cls.remote()
    with pytest.raises(ray.exceptions.ActorDiedError, match="exit code 3"):
        ray.get(actor.leave.remote(3))


@pytest.mark.parametrize("code, told", [(2, 2), (0, 0), (None, 0), ("text", 1), (True, 1)])
def test_the_error_of_a_task_has_the_exit_code(ray, code, told):
    leave = ray.remote(max_retries=0)(lambda: sys.exit(code))
    with pytest.raises(ray.exceptions.WorkerCrashedError, match=rf"exited with code {told}, because the task called sys\.exit"):
        ray.get(leave.remote())
