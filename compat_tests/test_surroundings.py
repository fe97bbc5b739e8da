"""What a worker sees of its surroundings: interpreter, process, signals, limits, environment."""

import asyncio
import gc
import locale
import os
import resource
import signal
import sys
import time
from importlib.util import find_spec

import pytest

from compat_tests.processes import alive, wait_until

LIMITS = [resource.getrlimit(limit) for limit in (resource.RLIMIT_STACK, resource.RLIMIT_CORE, resource.RLIMIT_NPROC, resource.RLIMIT_AS)]

HANDLED = "terminated by a handler"
def loop_class():
    loop = asyncio.new_event_loop()
    loop.close()
    return type(loop).__name__


PROBE = """
    import os, sys
    import ray

    os.umask(0o027)
    os.environ["SAID_BEFORE"] = "1"
    INIT
    os.environ["SAID_AFTER"] = "1"

    def look():
        import asyncio, faulthandler, gc, locale, multiprocessing, resource, signal, sys, threading

        umask = os.umask(0)
        os.umask(umask)
        loop = asyncio.new_event_loop()
        loop.close()
        with open("/proc/self/oom_score_adj") as score:
            killed_first = int(score.read())
        return {
            "killed first": killed_first, "niceness": os.nice(0), "input": [sys.stdin.name, sys.stdin.mode, sys.stdin.encoding, sys.stdin.isatty(), sys.stdin.read()],
            "blocked": sorted(int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, []) if number != signal.SIGINT), "terminated by a handler": callable(signal.getsignal(signal.SIGTERM)),
            "limits": [resource.getrlimit(limit) for limit in (resource.RLIMIT_STACK, resource.RLIMIT_CORE, resource.RLIMIT_NPROC, resource.RLIMIT_AS)],
            "locale": [locale.setlocale(locale.LC_ALL), locale.getpreferredencoding(False), sys.getfilesystemencoding(), os.environ.get("LC_CTYPE"), os.environ.get("LC_ALL")],
            "streams": [(stream.encoding, stream.line_buffering, stream.isatty()) for stream in (sys.stdout, sys.stderr)],
            "threads of libraries": {name: value for name, value in sorted(os.environ.items()) if name.endswith("_NUM_THREADS")},
            "flags": [sys.flags.optimize, sys.flags.isolated, sys.flags.no_user_site, sys.flags.dev_mode, sys.flags.utf8_mode],
            "options": [dict(sys._xoptions), list(sys.warnoptions), __debug__],
            "directory": os.getcwd(), "umask": umask,
            "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0] == resource.getrlimit(resource.RLIMIT_NOFILE)[1],
            "signals": [repr(signal.getsignal(number)) for number in (signal.SIGPIPE, signal.SIGCHLD, signal.SIGHUP, signal.SIGALRM, signal.SIGXFSZ)],
            "threads": [threading.current_thread().name, threading.current_thread() is threading.main_thread(), sys.getswitchinterval()],
            "recursion": sys.getrecursionlimit(), "gc": [gc.isenabled(), gc.get_threshold()],
            "multiprocessing": [multiprocessing.get_start_method(allow_none=True), multiprocessing.current_process().name],
            "loops": type(loop).__name__, "faulthandler": faulthandler.is_enabled(),
            "leads its process group": os.getpgrp() == os.getpid(), "leads its session": os.getsid(0) == os.getpid(),
            "said": [os.environ.get("SAID_BEFORE"), os.environ.get("SAID_AFTER")],
            "breakpoint": os.environ.get("PYTHONBREAKPOINT", "").replace("rayshim", "ray"),
            "main": [sys.modules["__main__"].__name__, os.path.basename(sys.modules["__main__"].__file__), os.path.basename(sys.argv[0])], "path has the script's": os.path.dirname(os.path.abspath(SCRIPT)) in sys.path,
            "affinity": sorted(os.sched_getaffinity(0)), "trace": [sys.gettrace(), sys.getprofile()],
        }

    class Looks:
        def look(self):
            return look()

    SCRIPT = __file__
    for seen in ray.get([ray.remote(look).remote(), ray.remote(Looks).remote().look.remote()]):
        print(seen)
"""


@pytest.mark.needs_processes
def test_a_worker_sees_what_it_sees_on_ray(scripts):
    task, actor = (eval(line) for line in scripts.run(PROBE).splitlines())
    assert [task.pop(HANDLED), actor.pop(HANDLED)] == [True, not scripts.backend.shares_processes]  # SIGTERM to one of several actors is for all
    assert task == actor
    limits = {name: task.pop(name) for name in ("affinity", "directory", "locale", "limits", "niceness")}
    assert limits["directory"] == str(scripts.directory) and limits["affinity"] == sorted(os.sched_getaffinity(0))
    assert limits["limits"] == LIMITS
    here = locale.setlocale(locale.LC_CTYPE)
    assert limits["locale"][0].startswith(f"LC_CTYPE={here};LC_NUMERIC=C;") or limits["locale"][0] == here == "C"
    assert limits["locale"][1:] == [locale.getpreferredencoding(False), sys.getfilesystemencoding(), os.environ.get("LC_CTYPE"), os.environ.get("LC_ALL")]
    assert limits["niceness"] == min(os.nice(0) + 15, 19)
    assert task == {
        "killed first": 1000,
        "input": ["<stdin>", "r", "utf-8", False, ""],
        "blocked": [],
        "streams": [("utf-8", True, False)] * 2,
        "threads of libraries": {**{name: value for name, value in os.environ.items() if name.endswith("_NUM_THREADS")}, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")},
        "flags": [0, 0, 0, False, sys.flags.utf8_mode],
        "options": [{}, [], True],
        "umask": 0o027,
        "files": True,
        "signals": ["<Handlers.SIG_IGN: 1>", "<Handlers.SIG_DFL: 0>", "<Handlers.SIG_DFL: 0>", "<Handlers.SIG_DFL: 0>", "<Handlers.SIG_IGN: 1>"],
        "threads": ["MainThread", True, sys.getswitchinterval()],
        "recursion": 1000,
        "gc": [True, gc.get_threshold()],
        "multiprocessing": [None, "MainProcess"],
        "loops": "Loop" if scripts.backend.is_ray and find_spec("uvloop") else loop_class(),  # uvloop's
        "faulthandler": True,
        "leads its process group": True,
        "leads its session": False,
        "said": ["1", None],
        "breakpoint": "ray.util.rpdb.set_trace",
        "main": ["__main__", "default_worker.py", "default_worker.py"],
        "path has the script's": True,
        "trace": [None, None],
    }


# What a shell, a batch system or a container may have set for the driver.
LAUNCHER = """
import os, resource, signal, sys

os.environ.update(RAY_worker_niceness="3", RAY_worker_oom_score_adjustment="300", NUMBA_NUM_THREADS="2", LC_ALL="C", PYTHONIOENCODING="latin-1")
os.nice(2)
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
for number in (signal.SIGHUP, signal.SIGUSR2, signal.SIGQUIT, signal.SIGCHLD, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM, signal.SIGWINCH])
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.needs_processes
def test_a_worker_sees_what_its_driver_was_started_with_as_on_ray(scripts):
    script = scripts.write("script.py", PROBE)
    (scripts.directory / "input").write_text("one line\n")
    with open(scripts.directory / "input") as lines:
        driver = scripts.start_command(sys.executable, "-c", LAUNCHER, sys.executable, *scripts.backend.command(script.name), stdin=lines)
        task, actor = (eval(line) for line in scripts.finished(driver).splitlines())
    assert [task.pop(HANDLED), actor.pop(HANDLED)] == [True, not scripts.backend.shares_processes]
    assert sorted([task.pop("input")[4], actor.pop("input")[4]]) == ["", "one line\n"]  # who comes first
    assert task == actor
    assert {name: task[name] for name in ("killed first", "niceness", "blocked", "files", "signals", "streams", "threads of libraries")} == {
        "killed first": 300,
        "niceness": os.nice(0) + 2 + 3,
        "blocked": [signal.SIGALRM, signal.SIGWINCH],
        "files": True,
        "signals": ["<Handlers.SIG_IGN: 1>", "<Handlers.SIG_DFL: 0>", "<Handlers.SIG_IGN: 1>", "<Handlers.SIG_DFL: 0>", "<Handlers.SIG_IGN: 1>"],
        "streams": [("utf-8", True, False)] * 2,
        "threads of libraries": {"NUMBA_NUM_THREADS": "2", "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")},
    }
    assert task["limits"] == [LIMITS[0], (0, 0), *LIMITS[2:]]
    assert task["locale"][1:] == ["UTF-8", "utf-8", "C.UTF-8", "C"] or task["locale"][3:] == [None, "C"], task["locale"]


CANCEL = """
    import time
    import ray
    INIT

    @ray.remote(max_retries=0)
    def spin(path):
        open(path, "w").close()
        end = time.monotonic() + 10
        while time.monotonic() < end:
            pass

    ref = spin.remote(path := __file__ + ".begun")
    while not __import__("os").path.exists(path):
        time.sleep(0.01)
    ray.cancel(ref)
    try:
        print(ray.get(ref))
    except ray.exceptions.TaskCancelledError:
        print("cancelled")
"""


@pytest.mark.needs_processes
@pytest.mark.parametrize("how", ["blocked", "ignored"])
def test_a_running_task_is_cancelled_though_its_driver_was_started_deaf_to_interrupts(scripts, how):
    script = scripts.write("script.py", CANCEL)
    deaf = {"blocked": "pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])", "ignored": "signal(signal.SIGINT, signal.SIG_IGN)"}[how]
    launcher = f"import os, signal, sys; signal.{deaf}; os.execv(sys.argv[1], sys.argv[1:])"
    driver = scripts.start_command(sys.executable, "-c", launcher, sys.executable, *scripts.backend.command(script.name))
    # Ray's task goes on to its end in a driver that a shell started in the background, which ignores SIGINT.
    assert scripts.finished(driver) == ("None\n" if scripts.backend.is_ray and how == "ignored" else "cancelled\n")


@pytest.fixture
def terminable(ray, tmp_path):
    """An actor class, and a function that says which of its traces are there."""

    @ray.remote
    class Terminable:
        def pid(self):
            import atexit

            atexit.register((tmp_path / "exit function").touch)
            return os.getpid()

        def work(self, swallow=False):
            (tmp_path / "begun").touch()
            try:
                time.sleep(30)
            except SystemExit as error:
                (tmp_path / f"SystemExit {error.code}").touch()
                if not swallow:
                    raise
                return "swallowed"
            finally:
                (tmp_path / "finally").touch()

    return Terminable.remote(), lambda: sorted(path.name for path in tmp_path.iterdir() if path.name != "gate")


@pytest.mark.needs_own_processes
def test_sigterm_ends_a_worker_through_the_running_method(ray, terminable):
    actor, traces = terminable
    pid, ref = ray.get(actor.pid.remote()), actor.work.remote()
    wait_until(lambda: "begun" in traces())
    os.kill(pid, signal.SIGTERM)
    with pytest.raises(ray.exceptions.ActorDiedError, match="SIGTERM"):
        ray.get(ref)
    wait_until(lambda: not alive(pid))
    assert traces() == ["SystemExit 1", "begun", "exit function", "finally"]


@pytest.mark.needs_own_processes
def test_a_method_may_go_on_after_sigterm(ray, terminable):
    actor, traces = terminable
    pid, ref = ray.get(actor.pid.remote()), actor.work.remote(swallow=True)
    wait_until(lambda: "begun" in traces())
    os.kill(pid, signal.SIGTERM)
    assert ray.get(ref) == "swallowed" and ray.get(actor.pid.remote()) == pid


@pytest.mark.needs_own_processes
def test_sigterm_ends_a_worker_that_does_nothing(ray, terminable):
    actor, traces = terminable
    pid = ray.get(actor.pid.remote())
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not alive(pid))
    with pytest.raises(ray.exceptions.ActorDiedError, match="SIGTERM"):
        ray.get(actor.pid.remote())
    assert traces() == ["exit function"]


@pytest.mark.needs_processes
def test_a_task_whose_worker_gets_sigterm_runs_its_finally_and_is_tried_again(ray, tmp_path):
    path = tmp_path / "tries"

    @ray.remote(max_retries=1)
    def task():
        try:
            if not path.exists():
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(30)
            return path.read_text()
        finally:
            path.write_text("again")

    assert ray.get(task.remote()) == "again"


@pytest.mark.parametrize("how", ["pass", "signal.signal(signal.SIGTERM, signal.SIG_IGN)", "signal.signal(signal.SIGTERM, lambda *_: print('own'))"])
def test_sigterm_ends_the_driver_through_its_finally_and_exit_functions(scripts, how):
    script = scripts.write("script.py", f"""
        import atexit, os, signal, time
        import ray
        {how}
        INIT
        atexit.register(lambda: print("exit function", flush=True))
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(30)
        except SystemExit as error:
            print("SystemExit", error.code)
            raise
        finally:
            print("finally")
        """)
    driver = scripts.start(script.name)
    status = driver.finish()
    # At its end Ray's core now and then aborts on such a program.
    assert status == 15 or scripts.backend.is_ray and status == -signal.SIGABRT
    assert [line for line in driver.out.splitlines() if "SIGTERM" not in line] == ["SystemExit 15", "finally", "exit function"]


def test_what_the_driver_sets_for_sigterm_after_init_holds(scripts):
    out = scripts.run("""
        import os, signal, time
        import ray
        INIT
        signal.signal(signal.SIGTERM, lambda *_: print("own"))
        os.kill(os.getpid(), signal.SIGTERM)
        print("goes on")
        """)
    assert out == "own\ngoes on\n"


@pytest.mark.needs_processes
def test_flags_of_the_drivers_interpreter_are_the_drivers_alone(scripts):
    script = scripts.write("script.py", """
        import os, sys
        import ray
        INIT
        look = lambda: (sys.flags.optimize, sys.warnoptions, sys._xoptions, sys.flags.dev_mode)
        print(look()[:2], ray.get(ray.remote(look).remote()))
    """)
    driver = scripts.start_command(sys.executable, "-O", "-W", "error::ImportWarning", *scripts.backend.command(script.name))
    assert scripts.finished(driver) == "(1, ['error::ImportWarning']) (0, [], {}, False)\n"


@pytest.mark.needs_processes
def test_a_worker_leaves_the_users_site_packages_out_if_its_driver_does(scripts):
    script = scripts.write("script.py", """
        import sys
        import ray
        INIT
        print(sys.flags.no_user_site, ray.get(ray.remote(lambda: sys.flags.no_user_site).remote()))
    """)
    driver = scripts.start_command(sys.executable, "-s", *scripts.backend.command(script.name))
    assert scripts.finished(driver) == "1 1\n"


@pytest.mark.needs_processes
def test_a_signal_to_its_process_group_reaches_no_other_worker(ray):
    @ray.remote
    class Actor:
        def pid(self):
            return os.getpid()

        def signals_its_group(self):
            import signal

            signal.signal(signal.SIGHUP, lambda *_: None)
            os.killpg(0, signal.SIGHUP)

    first, other = Actor.options(num_cpus=2).remote(), Actor.options(num_cpus=2).remote()
    before = ray.get([first.pid.remote(), other.pid.remote()])
    ray.get(first.signals_its_group.remote())
    assert ray.get([first.pid.remote(), other.pid.remote()]) == before
