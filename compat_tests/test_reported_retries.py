"""A call that is run again, because it raised or its process died, is told of on stderr: its error would be lost otherwise."""

import re

import pytest

from compat_tests.processes import wait_until

pytestmark = pytest.mark.rayshim_only  # on Ray the same sentences come from `(raylet)`, some seconds later, and repeated ones are left out

SOURCE = """
        import os, sys, time
        import ray
        INIT

        def fails_once(name, fail):
            if not os.path.exists(name):
                open(name, "w").close()
                fail()

        def fail():
            raise ValueError("first time")

        @ray.remote(max_retries=2, retry_exceptions=[ValueError])
        def raises():
            fails_once("a", fail)
            return 1

        @ray.remote(max_retries=3, retry_exceptions=True)
        def gives():
            yield 2
            fails_once("b", fail)
            yield 3

        @ray.remote(max_retries=-1, retry_exceptions=True)
        def without_end():
            fails_once("c", fail)
            return 4

        @ray.remote(max_retries=0)
        def never():
            return 5

        @ray.remote(max_task_retries=1)
        class Raises:
            @ray.method(retry_exceptions=True)
            def method(self):
                fails_once("d", fail)
                return 6

        print([ray.get(raises.remote()), *map(ray.get, gives.remote()), ray.get(without_end.remote()), ray.get(never.remote())])
        print(ray.get(Raises.remote().method.remote()))
        sys.stdout.write("done\\n")
        sys.stdout.flush()
        while not os.path.exists("seen"):
            time.sleep(0.01)
"""

DYING = """
        import os, sys, time
        import ray
        INIT

        def dies_once(name):
            if not os.path.exists(name):
                open(name, "w").close()
                os._exit(3)

        @ray.remote(max_retries=2)
        def dies():
            dies_once("a")
            return 1

        @ray.remote(max_restarts=1, max_task_retries=4)
        class Dies:
            def method(self):
                dies_once("b")
                return 2

        print(ray.get(dies.remote()), ray.get(Dies.remote().method.remote()))
        sys.stdout.write("done\\n")
        sys.stdout.flush()
        while not os.path.exists("seen"):
            time.sleep(0.01)
"""


def told(scripts, source, expected, *texts):
    """What stands on the driver's stderr when all `texts` (regular expressions) have appeared."""
    scripts.write("script.py", source)
    driver = scripts.start("script.py")
    driver.wait_for("done")
    assert driver.out.startswith(expected)
    wait_until(lambda: all(re.search(text, driver.err) for text in texts), 15, f"{texts} in {driver.err}")
    (scripts.directory / "seen").touch()
    scripts.finished(driver)
    return driver.err


def retried(name, left):
    return rf"Task {name} failed\. There are {left} retries remaining, so the task will be retried\. Error: "


def test_after_an_exception(scripts):
    told(
        scripts,
        SOURCE,
        "[1, 2, 3, 4, 5]\n6\n",
        retried("raises", 2),
        retried("gives", 3),
        retried("without_end", "infinite"),
        retried(r"Raises\.method", 1),
        "ValueError: first time",
    )


@pytest.mark.needs_processes
def test_after_the_death_of_its_process(scripts):
    told(scripts, DYING, "1 2\n", retried("dies", 2), retried(r"Dies(\.method)?", 4))
