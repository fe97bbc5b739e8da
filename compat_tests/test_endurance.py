"""Nothing grows with the number of calls or actors. Ray does grow, and is too slow for these numbers."""

import contextlib
import gc
import os

import pytest

from compat_tests.processes import MARK, marked, wait_until

pytestmark = pytest.mark.rayshim_only


def resident():
    """Bytes of the private and shared memory of this process and its workers, each page counted once.

    Files (libraries) are left out: their share grows when another program that uses them ends.
    """
    gc.collect()
    total = 0
    for pid in [os.getpid(), *marked(os.environ[MARK])]:
        # An actor's process may end meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError), open(f"/proc/{pid}/smaps_rollup") as rollup:
            total += sum(int(line.split()[1]) for line in rollup if line.startswith(("Pss_Anon:", "Pss_Shmem:"))) << 10
    return total


def test_calls_leave_memory_flat(ray):
    @ray.remote
    class Echo:
        def echo(self, x):
            return x

    echo = Echo.remote()

    def rounds(count):
        for _ in range(count):
            ray.get([echo.echo.remote(i) for i in range(100)])

    rounds(100)
    before = resident()
    rounds(500)
    assert resident() - before < 2 << 20


def test_puts_leave_memory_flat(ray):
    ray.get(ray.remote(lambda: 0).remote())  # from here on every process is there
    def rounds(count):
        for i in range(count):
            ray.get(ray.put([i, b"x" * 1000]))

    rounds(5_000)
    before = resident()
    rounds(50_000)
    assert resident() - before < 2 << 20


def test_actors_leave_memory_and_descriptors_flat(ray, backend):
    @ray.remote
    class Short:
        def ping(self):
            return "pong"

    def descriptors():
        return len(os.listdir("/proc/self/fd"))

    def rounds(count):
        for _ in range(count):
            assert ray.get(Short.remote().ping.remote()) == "pong"

    rounds(30)
    before, open_before, workers = resident(), descriptors(), len(marked(os.environ[MARK]))
    rounds(200)
    spare = os.cpu_count() if backend.shares_processes else 0  # workers that host actors come when they are needed, and stay
    wait_until(lambda: len(marked(os.environ[MARK])) <= workers + spare)
    assert resident() - before < 8 << 20
    assert descriptors() - open_before < 5
