"""A `get` in an async actor blocks its event loop: the actor says so, once."""

import pytest

from compat_tests.processes import wait_until

pytestmark = pytest.mark.needs_processes

TOLD = "Using blocking ray.get inside async actor. This blocks the event loop."

SOURCE = """
        import os, sys, time
        import ray
        INIT

        @ray.remote
        def one():
            return 1

        @ray.remote
        class Blocking:
            async def total(self):
                return ray.get(one.remote()) + sum(ray.get([one.remote(), one.remote()]))

        @ray.remote
        class Silenced(Blocking.__ray_actor_class__):
            def __init__(self):
                ray._private.worker.blocking_get_inside_async_warned = True

        @ray.remote
        class Awaiting:
            async def total(self):
                return await one.remote() + 2

        @ray.remote
        class Plain:
            def total(self):
                return ray.get(one.remote()) + 2

        @ray.remote
        class Last:
            def speak(self):
                print("spoken", file=sys.stderr)

        print(ray.get([kind.remote().total.remote() for kind in (Blocking, Silenced, Awaiting, Plain)]))
        ray.get(Last.remote().speak.remote())
        sys.stdout.write("done\\n")
        sys.stdout.flush()
        while not os.path.exists("seen"):
            time.sleep(0.01)
"""


def told(scripts, *texts):
    """The lines of the workers' stderr that speak of it, when the last actor has spoken, and `texts` have appeared."""
    scripts.write("script.py", SOURCE)
    driver = scripts.start("script.py")
    driver.wait_for("done")
    assert driver.out.startswith("[3, 3, 3, 3]")
    wait_until(lambda: all(text in driver.err for text in ("spoken", *texts)), 15, "the actors speak")
    (scripts.directory / "seen").touch()
    scripts.finished(driver)
    return [line for line in driver.err.splitlines() if TOLD in line]


def test_an_async_actor_that_gets_says_once_that_this_blocks_its_loop(scripts):
    (line,) = told(scripts, TOLD)
    assert "(Blocking pid=" in line


def test_the_environment_can_forbid_it(scripts, monkeypatch):
    monkeypatch.setenv("RAY_WARN_BLOCKING_GET_INSIDE_ASYNC", "0")
    assert told(scripts) == []
