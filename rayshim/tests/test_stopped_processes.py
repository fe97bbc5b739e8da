"""Processes of a session that are stopped (SIGSTOP, Ctrl-Z): who waits for one is told, and one that is continued goes on as if nothing had been."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from reactor.runtime.processes import silence

import rayshim as ray


@ray.remote(num_cpus=0)
class Actor:
    def get(self):
        return 1

    def pid(self):
        return os.getpid()


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setattr(silence, "STOPPED_SECONDS", 1.0)
    ray.init(num_cpus=2, placement="isolated", log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


def _supervisor():
    from rayshim.session import session

    return session.current.driver.zygote


def _stop(pid):
    os.kill(pid, signal.SIGSTOP)
    while not silence.is_stopped(pid):
        time.sleep(0.01)


CALLS = {
    "get_actor": lambda actor: ray.get_actor("actor"),
    "kill": lambda actor: ray.kill(actor),
    "a named actor": lambda actor: Actor.options(name="other").remote(),
    "a placement group": lambda actor: ray.util.placement_group([{"CPU": 1}]),
    "a new demand": lambda actor: ray.remote(lambda: 1).options(num_cpus=2).remote(),
    "list_named_actors": lambda actor: ray.util.list_named_actors(),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_that_waits_for_a_stopped_supervisor_says_so(session, call):
    actor = Actor.options(name="actor").remote()
    assert ray.get(actor.get.remote(), timeout=200) == 1
    pid = _supervisor()
    _stop(pid)
    try:
        with pytest.raises(TimeoutError, match=rf"pid {pid}\) is stopped.*kill -CONT {pid}"):
            CALLS[call](actor)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert ray.get(Actor.remote().get.remote(), timeout=200) == 1


def test_a_supervisor_that_is_continued_in_time_goes_on_as_if_nothing_had_been(monkeypatch, session):
    monkeypatch.setattr(silence, "STOPPED_SECONDS", 1000.0)
    actor = Actor.options(name="actor").remote()
    assert ray.get(actor.get.remote(), timeout=200) == 1
    pid = _supervisor()
    _stop(pid)
    found = []
    thread = threading.Thread(target=lambda: found.append(ray.get(ray.get_actor("actor").get.remote())))
    thread.start()
    thread.join(1.5)  # some looks at a process that does not answer
    os.kill(pid, signal.SIGCONT)
    thread.join()
    assert found == [1]


def test_calls_of_a_stopped_actor_wait_and_kill_ends_it(session):
    actor = Actor.remote()
    pid = ray.get(actor.pid.remote(), timeout=200)
    _stop(pid)
    ref = actor.get.remote()
    assert ray.wait([ref], timeout=0.2)[0] == []
    os.kill(pid, signal.SIGCONT)
    assert ray.get(ref, timeout=200) == 1
    _stop(pid)
    ray.kill(actor)
    with pytest.raises(ray.exceptions.ActorDiedError):
        ray.get(actor.get.remote(), timeout=200)


def test_shutdown_ends_a_stopped_supervisor_with_its_workers(session):
    worker = ray.get(Actor.remote().pid.remote(), timeout=200)
    pid = _supervisor()
    _stop(pid)
    ray.shutdown()
    assert not any(os.path.exists(f"/proc/{one}") for one in (pid, worker))


def _command(*words, directory):
    return subprocess.run(
        [sys.executable, "-m", "rayshim", *words, "--temp-dir", str(directory)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize("who", ["head", "supervisor", "both"])
@pytest.mark.parametrize("how", [["--force"], ["--grace-period", "60"]])
def test_rayshim_stop_ends_a_stopped_head_with_all_its_processes(tmp_path, who, how):
    from rayshim.cli import ending

    begun = _command(
        "start", "--head", "--num-cpus", "1", "--include-dashboard", "no", "--port", "0", directory=tmp_path
    )
    assert begun.returncode == 0, begun.stderr
    (head,) = ending.find(str(tmp_path))
    for pid in {"head": [head.pid], "supervisor": [head.supervisor], "both": [head.pid, head.supervisor]}[who]:
        _stop(pid)
    ended = _command("stop", *how, directory=tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "Stopped all 1 Ray processes.\n"), ended.stderr
    assert not head.lives()
    head.close()
    assert ending.find(str(tmp_path)) == []
