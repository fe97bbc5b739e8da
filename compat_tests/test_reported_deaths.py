"""A process that dies in the middle of its work is told of, also when nobody asks for the results of its calls."""

import pytest

from compat_tests.processes import wait_until

pytestmark = pytest.mark.needs_processes
TOLD = "A worker died or was killed while executing a task by an unexpected system error"

SOURCE = """
        import os, signal, sys, time
        os.environ["RAY_DEDUP_LOGS"] = "0"
        import ray
        INIT

        @ray.remote(max_retries=0)
        def dies(path):
            open(path, "w").close()
            os._exit(3)

        @ray.remote(max_retries=0)
        def waits(path):
            open(path, "w").close()
            time.sleep(60)

        @ray.remote
        class Actor:
            def dies(self):
                os.kill(os.getpid(), signal.SIGKILL)

            def leaves(self):
                ray.actor.exit_actor()

            def exits(self, code):
                sys.exit(code)

            def number(self):
                return 1

        @ray.remote
        class Unmade:
            def __init__(self, code):
                sys.exit(code)

            def number(self):
                return 1

        @ray.remote(max_retries=0)
        def exits(code):
            sys.exit(code)

        def path():
            return os.path.join(os.getcwd(), os.urandom(8).hex())

        def exists(name):
            while not os.path.exists(name):
                time.sleep(0.01)

        BODY
        sys.stdout.write("done\\\\n")
        sys.stdout.flush()
        exists("seen")
"""

DEATHS = """
        name = path()
        first = dies.remote(name)
        exists(name)
        actor = Actor.remote()
        second = actor.dies.remote()
"""

WANTED = """
        name = path()
        task = waits.remote(name)
        exists(name)
        ray.cancel(task, force=True)
        actors = [Actor.remote() for _ in range(3)]
        assert ray.get([a.number.remote() for a in actors]) == [1] * 3
        ray.kill(actors[0])
        leaves = actors[1].leaves.remote()
        del actors
        for ref in (task, leaves):
            try:
                ray.get(ref)
            except ray.exceptions.RayError as error:
                pass
        name = path()
        last = dies.remote(name)
        exists(name)
"""

EXITS = """
        refs = [CALLS]
        for ref in refs:
            try:
                ray.get(ref)
            except ray.exceptions.RayError:
                pass
        name = path()
        last = dies.remote(name)
        exists(name)
"""


def told(scripts, body, number):
    """The lines about deaths, when there are `number`."""
    scripts.write("script.py", SOURCE.replace("        BODY\n", body).replace("\\\\n", "\\n"))
    driver = scripts.start("script.py")
    driver.wait_for("done")

    def lines():
        return [line for line in (driver.out + driver.err).splitlines() if TOLD in line]
    wait_until(lambda: len(lines()) >= number, 30, f"{number} lines")
    (scripts.directory / "seen").touch()
    scripts.finished(driver)
    return lines()


def test_deaths_of_a_task_and_of_an_actor(scripts):
    assert len(told(scripts, DEATHS, 2)) == 2


def test_ends_that_were_asked_for_are_not_told(scripts):
    assert len(told(scripts, WANTED, 1)) == 1


@pytest.mark.parametrize("calls, number", [
    ("Actor.remote().exits.remote(3), Actor.remote().exits.remote(-1), Actor.remote().exits.remote(None), Actor.remote().exits.remote('why')", 4),
    ("Unmade.remote(3).number.remote()", 1),
    ("exits.remote(3), exits.remote(0)", 2),
    ("Actor.remote().exits.remote(0), Unmade.remote(0).number.remote()", 0),
], ids=["actors", "constructor", "tasks", "zero"])  # fmt: skip
def test_sys_exit_is_told_unless_an_actor_leaves_with_zero(scripts, calls, number):
    assert len(told(scripts, EXITS.replace("CALLS", calls), number + 1)) == number + 1
