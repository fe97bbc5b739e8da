"""`rayshim status`, `stack` and `memory`, asked from inside a session of their own."""

import io
import os
import subprocess
import sys

import pytest

import rayshim
from rayshim.cli import running, session_state


@pytest.fixture
def worker():
    rayshim.init(num_cpus=1, log_to_driver=False)

    @rayshim.remote
    class Waiter:
        def pid(self):
            return os.getpid()

        def wait_in_here(self, path):
            import time

            open(path + ".here", "w").close()
            while not os.path.exists(path):
                time.sleep(0.01)

    yield Waiter.remote()
    rayshim.shutdown()


def told(command):
    """What the command prints of this process's session."""
    out = io.StringIO()
    assert getattr(session_state, command)(out) == 0
    parts = ("\n" + out.getvalue()).split("\ndriver ")
    (mine,) = [part for part in parts if part.startswith(f"{os.getpid()} ")]
    return mine


def test_a_session_is_found_with_its_workers(worker):
    pid = rayshim.get(worker.pid.remote())
    (mine,) = [found for found in running.sessions() if found.driver.pid == os.getpid()]
    assert [w.pid for w in mine.workers] == [pid] and mine.workers[0].what == "ray::Waiter"
    assert mine.shared > 0 and mine.workers[0].private > 0


def test_status_and_memory_name_the_worker(worker):
    pid = rayshim.get(worker.pid.remote())
    assert f"worker {pid}  ray::Waiter" in told("status")
    assert "ray::Waiter" in told("memory") and "shared" in told("memory")


@pytest.mark.parametrize("command", ["status", "memory", "stack"])
def test_who_reads_only_the_first_lines_ends_it_without_a_word(worker, command):
    rayshim.get(worker.pid.remote())
    reads, writes = os.pipe()
    os.close(reads)
    asked = subprocess.run([sys.executable, "-m", "rayshim", command], stdout=writes, stderr=subprocess.PIPE)
    os.close(writes)
    assert (asked.returncode, asked.stderr) == (141, b"")


def test_stack_shows_where_a_busy_worker_is_and_not_how_it_came_there(worker, tmp_path):
    path = str(tmp_path / "go on")
    busy = worker.wait_in_here.remote(path)
    while not os.path.exists(path + ".here"):
        rayshim.wait([busy], timeout=0.01)
    shown = told("stack")
    open(path, "w").close()
    rayshim.get(busy)
    assert "in wait_in_here" in shown and "in main" not in shown


def test_the_state_after_the_end_is_none():
    assert not [found for found in running.sessions() if found.driver.pid == os.getpid()]
