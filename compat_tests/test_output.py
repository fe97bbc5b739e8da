import os
import re

import pytest

from compat_tests.processes import wait_until

pytestmark = pytest.mark.needs_processes

# The driver stays until the test has seen the output: Ray drops what arrives after the end. It says so in one write: with PYTHONUNBUFFERED
# `print` makes two, and a worker's line may come between.
STAY = """
        import os, sys, time
        sys.stdout.write("done\\n")
        sys.stdout.flush()
        while not os.path.exists("seen"):
            time.sleep(0.01)
"""


def line(name, text):
    """The line of `text` as the driver shows it, in colour or not."""
    return re.compile(rf"^(\x1b\[\d+m)?\({name} pid=\d+\)(\x1b\[0m)? {text}$", re.MULTILINE)


def shown(scripts, source, *patterns, stream, **init):
    """Run `source` until each of `patterns` has appeared."""
    scripts.write("script.py", source + STAY, **init)
    driver = scripts.start("script.py")
    driver.wait_for("done")
    for pattern in patterns:
        try:
            wait_until(lambda: pattern.search(getattr(driver, stream)), 15, f"{pattern.pattern} in {stream}")
        except AssertionError as e:
            raise AssertionError(f"{e}\nout: {driver.out!r}\nerr: {driver.err!r}") from None
    (scripts.directory / "seen").touch()
    scripts.finished(driver)


def test_what_workers_print_appears_with_their_name_and_pid(scripts):
    shown(scripts, """
        import ray
        INIT

        @ray.remote
        def speak():
            print("from a task")

        @ray.remote
        class Speaker:
            def speak(self):
                print("two lines\\nof an actor")

        @ray.remote
        class Renamed:
            def __repr__(self):
                return "Known as"

            def speak(self):
                print("by another name")

        ray.get([speak.remote(), Speaker.remote().speak.remote(), Renamed.remote().speak.remote()])
        """, line("speak", "from a task"), line("Speaker", "two lines"), line("Speaker", "of an actor"),
          line("Known as", "by another name"), stream="out")


def test_what_workers_write_to_stderr_appears_in_stderr(scripts):
    shown(scripts, """
        import os, subprocess, sys
        import ray
        INIT

        @ray.remote
        def speak():
            print("by print", file=sys.stderr)
            os.write(2, b"by the descriptor\\n")

        ray.get(speak.remote())
        """, line("speak", "by print"), line("speak", "by the descriptor"), stream="err")


def test_what_processes_of_a_task_print_has_its_name(scripts):
    shown(scripts, """
        import multiprocessing, os, subprocess
        import ray
        INIT

        @ray.remote
        def run():
            subprocess.run(["echo", "run"])

        @ray.remote
        def shell():
            os.system("echo shell")

        @ray.remote
        def fork():
            child = multiprocessing.get_context("fork").Process(target=print, args=["fork"], kwargs={"flush": True})
            child.start()
            child.join()

        for function in (run, shell, fork):  # one after the other: they may share a worker
            ray.get(function.remote())
        """, line("run", "run"), line("shell", "shell"), line("fork", "fork"), stream="out")


def test_workers_are_silent_without_log_to_driver(scripts):
    out = scripts.run("""
        import sys
        import ray
        INIT

        @ray.remote
        def speak():
            print("hidden")
            print("hidden", file=sys.stderr)

        ray.get(speak.remote())
        print("shown")
        """, log_to_driver=False)
    assert out == "shown\n"


def test_a_line_without_an_end_appears(scripts):
    shown(scripts, """
        import sys
        import ray
        INIT

        @ray.remote
        def speak():
            print("half", end=" ")
            print("and half", end="")
            print("oops", end="", file=sys.stderr)

        ray.get(speak.remote())
        """, line("speak", "half and half"), stream="out")


@pytest.mark.needs_own_processes
def test_what_many_workers_print_alike_is_shown_once_and_counted(scripts):
    scripts.write("script.py", """
        import ray
        INIT

        @ray.remote(num_cpus=0)
        class Speaker:
            def speak(self):
                print(f"hello from {id(self)}")

        ray.get([s.speak.remote() for s in [Speaker.remote() for _ in range(4)]])
        ray.shutdown()
        """)
    driver = scripts.start("script.py")
    out = scripts.finished(driver)
    assert out.count("hello") == 2 and re.search(r"\[repeated \dx across cluster\]", out)


def test_an_environment_variable_silences_workers(scripts, monkeypatch):
    monkeypatch.setenv("RAY_LOG_TO_DRIVER", "0")
    out = scripts.run("""
        import ray
        INIT
        ray.get(ray.remote(lambda: print("hidden")).remote())
        print("shown")
        """)
    assert out == "shown\n"


@pytest.mark.parametrize("wanted, color", [("0", ""), ("1", r"\x1b\[(35|36|32|90|94|95)m")])
def test_the_name_before_a_line_has_the_color_that_the_environment_asks_for(scripts, monkeypatch, wanted, color):
    monkeypatch.setenv("RAY_COLOR_PREFIX", wanted)
    end = r"\x1b\[0m" if color else ""
    shown(scripts, """
        import ray
        INIT

        @ray.remote
        def speak():
            print("spoken")

        ray.get(speak.remote())
        """, re.compile(rf"^{color}\(speak pid=\d+\){end} spoken$", re.MULTILINE), stream="out")


@pytest.mark.needs_own_processes
def test_the_process_list_tells_what_workers_run(ray):
    @ray.remote
    class Named:
        def __init__(self):
            self.first = title()

        def method(self):
            return self.first, title()

    def title():
        with open("/proc/self/cmdline", "rb") as file:
            return file.read().split(b"\0")[0].decode().strip()

    @ray.remote
    def task():
        return title()

    assert ray.get(task.remote()) == "ray::task"
    assert ray.get(Named.remote().method.remote()) == ("ray::Named.__init__", "ray::Named.method")


@pytest.mark.needs_own_processes
def test_the_process_has_the_name_of_the_class(ray):
    @ray.remote
    class Named:
        def pid(self):
            return os.getpid()

    actor = Named.remote()
    pid = ray.get(actor.pid.remote())

    def name():
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()

    wait_until(lambda: name() == "ray::Named")


@pytest.mark.rayshim_only
def test_what_calls_print_is_seen_though_nobody_waits_for_them(scripts):
    out = scripts.run("""
        import ray
        INIT

        @ray.remote
        def task(text):
            print(text)

        ray.get(task.remote("there is a worker"))
        task.remote("from the task")
    """)
    assert "from the task" in out
