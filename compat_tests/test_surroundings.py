"""What a worker sees of its surroundings: interpreter, process, signals, limits, environment."""

import asyncio
import gc
import os
import sys

import pytest

PROBE = """
    import os, sys
    import ray

    os.umask(0o027)
    os.environ["SAID_BEFORE"] = "1"
    INIT
    os.environ["SAID_AFTER"] = "1"

    def look():
        import asyncio, faulthandler, gc, multiprocessing, resource, signal, sys, threading

        umask = os.umask(0)
        os.umask(umask)
        return {
            "flags": [sys.flags.optimize, sys.flags.isolated, sys.flags.no_user_site, sys.flags.dev_mode, sys.flags.utf8_mode],
            "options": [dict(sys._xoptions), list(sys.warnoptions), __debug__],
            "directory": os.getcwd(), "umask": umask,
            "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0] == resource.getrlimit(resource.RLIMIT_NOFILE)[1],
            "signals": [repr(signal.getsignal(number)) for number in (signal.SIGPIPE, signal.SIGCHLD, signal.SIGHUP, signal.SIGALRM, signal.SIGXFSZ)],
            "threads": [threading.current_thread().name, threading.current_thread() is threading.main_thread(), sys.getswitchinterval()],
            "recursion": sys.getrecursionlimit(), "gc": [gc.isenabled(), gc.get_threshold()],
            "multiprocessing": [multiprocessing.get_start_method(allow_none=True), multiprocessing.current_process().name],
            "loops": type(asyncio.get_event_loop_policy()).__name__, "faulthandler": faulthandler.is_enabled(),
            "leads its process group": os.getpgrp() == os.getpid(), "leads its session": os.getsid(0) == os.getpid(),
            "said": [os.environ.get("SAID_BEFORE"), os.environ.get("SAID_AFTER")],
            "breakpoint": os.environ.get("PYTHONBREAKPOINT", "").replace("rayshim", "ray"),
            "main": sys.modules["__main__"].__name__, "path has the script's": os.path.dirname(os.path.abspath(SCRIPT)) in sys.path,
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
    assert task == actor
    limits = {name: task.pop(name) for name in ("affinity", "directory")}
    assert limits["directory"] == str(scripts.directory) and limits["affinity"] == sorted(os.sched_getaffinity(0))
    assert task == {
        "flags": [0, 0, 0, False, 0],
        "options": [{}, [], True],
        "umask": 0o027,
        "files": True,
        "signals": ["<Handlers.SIG_IGN: 1>", "<Handlers.SIG_DFL: 0>", "<Handlers.SIG_DFL: 0>", "<Handlers.SIG_DFL: 0>", "<Handlers.SIG_IGN: 1>"],
        "threads": ["MainThread", True, sys.getswitchinterval()],
        "recursion": 1000,
        "gc": [True, gc.get_threshold()],
        "multiprocessing": [None, "MainProcess"],
        "loops": type(asyncio.get_event_loop_policy()).__name__,
        "faulthandler": True,
        "leads its process group": True,
        "leads its session": False,
        "said": ["1", None],
        "breakpoint": "ray.util.rpdb.set_trace",
        "main": "__main__",
        "path has the script's": True,
        "trace": [None, None],
    }


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
