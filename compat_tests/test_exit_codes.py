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


@pytest.mark.needs_processes
def test_a_code_that_is_text_is_shown(scripts):
    scripts.write("script.py", """
        import sys
        import ray
        INIT

        @ray.remote
        class Leaver:
            def leave(self):
                sys.exit("had enough")

        try:
            ray.get(Leaver.remote().leave.remote())
        except ray.exceptions.ActorDiedError as error:
            print("exit code 1" in str(error))
        ray.shutdown()
    """)
    driver = scripts.start("script.py")
    scripts.finished(driver)
    assert driver.out.strip().splitlines()[-1] == "True" and "had enough" in driver.err
