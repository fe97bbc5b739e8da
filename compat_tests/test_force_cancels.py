"""`cancel(force=True)` ends the worker of a task, and with it the tasks that it has submitted."""

import os
import time

import pytest

pytestmark = [pytest.mark.needs_processes, pytest.mark.needs_concurrency]
LONG = 40.0


@pytest.fixture
def calls(ray, gate):
    """{name: function that submits a task, whose process notes its pid with the gate}."""

    def run(name):
        gate.touch(f"pid-{name}-{os.getpid()}")
        while not gate.is_open():
            time.sleep(0.02)

    @ray.remote(num_cpus=0, max_retries=3)
    def leaf(name):
        run(name)

    @ray.remote(num_cpus=0, max_retries=3)
    def values():
        yield 1
        run("values")

    @ray.remote(num_cpus=0, max_retries=3)
    def mid():
        kept = leaf.remote("leaf of mid")  # noqa: F841
        run("mid")

    return {
        "leaf": lambda: leaf.remote("leaf"),
        "values": lambda: values.options(num_returns="streaming").remote(),
        "mid": lambda: mid.remote(),
    }


def pids(gate, names):
    """The pids of the processes in which calls of these names run, when all of them do."""
    found = {}
    deadline = time.monotonic() + LONG
    while set(found) != set(names):
        assert time.monotonic() < deadline, found
        found = {entry.split("-")[1]: int(entry.split("-")[2]) for entry in os.listdir(gate.directory) if entry.startswith("pid-")}
        time.sleep(0.02)
    return found


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("recursive", [True, False])
@pytest.mark.parametrize("called, names", [
    ("leaf", ["top", "leaf"]), ("values", ["top", "values"]), ("mid", ["top", "mid", "leaf of mid"]),
])
def test_the_tasks_that_the_cancelled_one_has_submitted_end(ray, gate, calls, called, names, recursive):
    begin = calls[called]

    @ray.remote(num_cpus=0, max_retries=3)
    def top():
        kept = begin()  # noqa: F841
        gate.touch(f"pid-top-{os.getpid()}")
        while not gate.is_open():
            time.sleep(0.02)

    ref = top.remote()
    processes = pids(gate, names)
    ray.cancel(ref, force=True, recursive=recursive)
    with pytest.raises((ray.exceptions.TaskCancelledError, ray.exceptions.WorkerCrashedError)):
        ray.get(ref, timeout=LONG)
    deadline = time.monotonic() + LONG
    while running := [name for name, pid in processes.items() if not has_ended(pid)]:
        assert time.monotonic() < deadline, f"still run: {running}"
        time.sleep(0.02)
    assert set(pids(gate, names).items()) == set(processes.items())  # none was run again


def test_a_task_that_waits_does_not_run(ray, gate):
    cpus = ray.cluster_resources()["CPU"]

    @ray.remote(num_cpus=cpus)
    def whole(name):
        gate.touch(name)

    @ray.remote(num_cpus=cpus)
    def top():
        kept = whole.remote("waits")  # noqa: F841
        gate.touch("top")
        while not gate.is_open():
            time.sleep(0.02)

    ref = top.remote()
    gate.wait_for("top")
    ray.cancel(ref, force=True)
    with pytest.raises((ray.exceptions.TaskCancelledError, ray.exceptions.WorkerCrashedError)):
        ray.get(ref, timeout=LONG)
    ray.get([whole.remote("mine"), whole.remote("mine")])
    assert not os.path.exists(os.path.join(gate.directory, "waits"))
