"""Processes that an actor or a task has started, and what becomes of them when it ends. Ray keeps them in its worker's process group."""

import multiprocessing
import os
import signal
import subprocess
import time

import pytest

from compat_tests.processes import alive, marked, wait_until

pytestmark = pytest.mark.needs_processes


def start_child():
    return [subprocess.Popen(["sleep", "300"]).pid]


def start_grandchild():
    child = subprocess.Popen(["sh", "-c", "sleep 300 & echo $!; wait"], stdout=subprocess.PIPE)
    return [child.pid, int(child.stdout.readline())]


def start_orphan():
    parent = subprocess.Popen(["sh", "-c", "sleep 300 > /dev/null & echo $!"], stdout=subprocess.PIPE)
    parent.wait()
    return [int(parent.stdout.readline())]


def start_by_fork():
    child = os.fork()
    if child == 0:
        time.sleep(300)
        os._exit(0)
    return [child]


def start_by_multiprocessing():
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(300,))
    child.start()
    return [child.pid]


def start_in_own_session():
    return [subprocess.Popen(["sleep", "300"], start_new_session=True).pid]


# One that has lost its parent ends with the worker: a packed one goes on when an actor has left it.
HOW_WITH_ORPHAN = ["child", "grandchild", pytest.param("orphan", marks=pytest.mark.needs_own_processes), "fork", "multiprocessing"]
STARTS = {"child": start_child, "grandchild": start_grandchild, "orphan": start_orphan, "fork": start_by_fork, "multiprocessing": start_by_multiprocessing}


@pytest.fixture
def starter(ray):
    starts = {**STARTS, "own session": start_in_own_session}

    @ray.remote
    class Starter:
        def start(self, how):
            return os.getpid(), starts[how]()

        def group(self):
            return os.getpid(), os.getpgid(0)

        def leave(self):
            ray.actor.exit_actor()

    return Starter


def gone(pids):
    return not any(map(alive, pids))


@pytest.mark.parametrize("how", HOW_WITH_ORPHAN)
def test_what_an_actor_has_started_ends_when_it_is_killed(ray, starter, how):
    actor = starter.remote()
    _, pids = ray.get(actor.start.remote(how))
    ray.kill(actor)
    wait_until(lambda: gone(pids), because=f"the {how} has ended")


@pytest.mark.parametrize("how", HOW_WITH_ORPHAN)
def test_what_an_actor_has_started_ends_when_its_last_handle_goes(ray, starter, how):
    actor = starter.remote()
    _, pids = ray.get(actor.start.remote(how))
    del actor
    wait_until(lambda: gone(pids), because=f"the {how} has ended")


def test_what_an_actor_has_started_ends_when_it_leaves(ray, backend, starter):
    actor = starter.remote()
    pids = [pid for how in STARTS if how != "orphan" or not backend.shares_processes for pid in ray.get(actor.start.remote(how))[1]]
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(actor.leave.remote())
    wait_until(lambda: gone(pids))


def test_what_an_actor_has_started_ends_when_its_process_is_killed_from_outside(ray, starter):
    actor = starter.remote()
    started = [ray.get(actor.start.remote(how)) for how in ("child", "grandchild", "orphan")]
    os.kill(started[0][0], signal.SIGKILL)
    wait_until(lambda: gone([pid for _, pids in started for pid in pids]))


@pytest.mark.parametrize("how", STARTS)
def test_what_a_task_has_started_ends_with_its_worker(ray, how):
    start = STARTS[how]
    pids = ray.get(ray.remote(max_calls=1)(lambda: start()).remote())
    wait_until(lambda: gone(pids))


def test_what_an_actor_has_started_goes_on_while_it_lives(ray, starter):
    actor, other = starter.remote(), starter.remote()
    _, pids = ray.get(actor.start.remote("orphan"))
    _, others = ray.get(other.start.remote("child"))
    ray.kill(other)
    wait_until(lambda: gone(others))
    assert not gone(pids)


@pytest.mark.rayshim_only  # on Ray it depends on which of its processes the orphan came to
def test_what_has_begun_a_session_of_its_own_outlives_its_actor(ray, starter):
    actor = starter.remote()
    _, pids = ray.get(actor.start.remote("own session"))
    _, others = ray.get(actor.start.remote("child"))
    ray.kill(actor)
    wait_until(lambda: gone(others))
    assert not gone(pids)
    os.kill(pids[0], signal.SIGKILL)


def test_a_worker_leads_a_process_group_of_its_own(ray, starter):
    pid, group = ray.get(starter.remote().group.remote())
    assert pid == group


def test_the_group_of_a_worker_killed_from_outside_is_told_to_terminate_first(ray, tmp_path):
    told, ready = tmp_path / "told", tmp_path / "ready"

    @ray.remote
    class Starter:
        def start(self):
            subprocess.Popen(["sh", "-c", f"trap ': > {told}' TERM; touch {ready}; while :; do sleep 0.02; done"])
            return os.getpid()

    actor = Starter.remote()
    pid = ray.get(actor.start.remote())
    wait_until(ready.exists)
    os.kill(pid, signal.SIGKILL)
    wait_until(told.exists)


@pytest.mark.rayshim_only
@pytest.mark.parametrize("end", ["ray.shutdown()", "os.kill(os.getpid(), signal.SIGKILL)", "os._exit(0)", "sys.exit(0)", "os.kill(helper(), signal.SIGKILL)"])
def test_nothing_that_workers_have_started_outlives_the_session(scripts, end):
    scripts.write("started.py", "import " + "os, subprocess, time, multiprocessing\n" + _source_of(*STARTS.values(), start_in_own_session))
    scripts.write("script.py", f"""
        import os, signal, sys, time
        import ray, started
        INIT

        @ray.remote
        class Starter:
            def start(self, name):
                return getattr(started, name)()

        def helper():
            with open(f"/proc/{{ray.get(ray.remote(os.getpid).remote())}}/stat") as stat:
                return int(stat.read().rpartition(")")[2].split()[1])

        names = {[start.__name__ for start in STARTS.values()]!r} + ([] if "helper" in {end!r} else ["start_in_own_session"])
        starter = Starter.remote()
        kept = [ray.get(starter.start.remote(name)) for name in names]
        print("started", *sum(kept, []), flush=True)
        {end}
        print("ended", flush=True)
        time.sleep(300)
        """)
    driver = scripts.start("script.py")
    driver.wait_for("started")
    pids = list(map(int, driver.out.split("\n")[0].split()[1:]))
    assert len(pids) >= 5
    wait_until(lambda: gone(pids))
    wait_until(lambda: marked(scripts.mark) in ([], [driver.process.pid]))


@pytest.mark.rayshim_only
def test_what_the_driver_has_started_is_left_alone(scripts):
    scripts.write("script.py", """
        import subprocess, sys
        import ray
        INIT
        ray.get(ray.remote(lambda: 1).remote())
        child = subprocess.Popen([sys.executable, "-c", "input(); print('child goes on', flush=True)"], stdin=subprocess.PIPE)
        ray.shutdown()
        child.communicate(b"\\n")
        """)
    driver = scripts.start("script.py")
    assert "child goes on" in scripts.finished(driver)


@pytest.mark.rayshim_only
def test_a_forked_child_of_the_driver_does_not_keep_the_store(scripts):
    scripts.write("script.py", """
        import os, sys
        import numpy as np
        import ray
        INIT

        def mapped(pid):
            with open(f"/proc/{pid}/maps") as maps:
                return "memfd:reactor " in maps.read()

        def fork():
            go, answer = os.pipe(), os.pipe()
            pid = os.fork()
            if pid == 0:
                os.write(answer[1], b"y" if mapped(os.getpid()) else b"n")
                os.read(go[0], 1)
                os.write(answer[1], b"%d" % array[-1] if array is not None else b"-")
                os._exit(0)
            return go[1], answer[0]

        ref = ray.put(np.arange(1000000))
        array = None
        go, answer = fork()
        print(os.read(answer, 1).decode(), mapped(os.getpid()))
        os.write(go, b"x")
        array = ray.get(ref)
        go, answer = fork()
        print(os.read(answer, 1).decode())
        ray.shutdown()
        os.write(go, b"x")
        print(os.read(answer, 10).decode())
        """)
    assert scripts.finished(scripts.start("script.py")).split() == ["n", "True", "y", "999999"]


def _source_of(*functions):
    import inspect

    return "\n\n".join(map(inspect.getsource, functions))
