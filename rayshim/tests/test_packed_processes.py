"""The processes that the actors of one packed worker start: each ends with its actor, and what others use goes on."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

import rayshim as ray
from compat_tests.processes import alive, wait_until


@pytest.fixture(autouse=True)
def one_worker():
    ray.init(num_cpus=4, placement=ray.packed(1), log_to_driver=False)
    yield
    ray.shutdown()


class Pools:
    """What the actors of the worker share."""

    executor = of_multiprocessing = None


def worker():  # the name of the function that the processes of a pool run
    time.sleep(300)


@ray.remote
class Starter:
    def host(self):
        return os.getpid()

    def start(self, *command, seconds=0.0):
        child = subprocess.Popen(command or ["sleep", "300"])
        time.sleep(seconds)
        return child.pid

    def start_stubborn(self):
        child = subprocess.Popen(["sh", "-c", "trap '' TERM; echo x; sleep 300; sleep 300"], stdout=subprocess.PIPE)
        child.stdout.read(1)
        return child.pid

    def start_by(self, method):
        process = multiprocessing.get_context(method).Process(target=worker, daemon=True)
        process.start()
        return process.pid

    def start_in_thread(self):
        pids = []
        thread = threading.Thread(target=lambda: pids.append(subprocess.Popen(["sleep", "300"]).pid))
        thread.start()
        thread.join()
        return pids[0]

    def start_many(self, count):
        for _ in range(count):
            subprocess.run(["true"], check=True)
        return self.start()

    def use_executor(self, value):
        from rayshim.tests.test_packed_processes import Pools

        if Pools.executor is None:
            Pools.executor = ProcessPoolExecutor(1, multiprocessing.get_context("fork"))
        return Pools.executor.submit(abs, value).result()

    def use_pool(self, value):
        from rayshim.tests.test_packed_processes import Pools

        if Pools.of_multiprocessing is None:
            Pools.of_multiprocessing = multiprocessing.get_context("fork").Pool(1)
        return Pools.of_multiprocessing.apply(abs, (value,))

    def start_and_wait(self, seconds):
        child = subprocess.Popen(["sleep", str(seconds)])
        return child.pid, child.wait()


def gone(*pids):
    return not any(map(alive, pids))


def two():
    actors = Starter.remote(), Starter.remote()
    assert len(set(ray.get([actor.host.remote() for actor in actors]))) == 1
    return actors


def test_the_process_of_a_neighbour_goes_on():
    a, b = two()
    of_a, of_b = ray.get([a.start_stubborn.remote(), b.start.remote()])
    ray.kill(a)
    wait_until(lambda: gone(of_a))  # by SIGKILL, which comes last
    assert not gone(of_b)
    del b
    wait_until(lambda: gone(of_b))


def test_each_of_two_that_start_at_the_same_time_has_its_own():
    a, b = two()
    of_a = [a.start.remote(seconds=0.05) for _ in range(10)]
    of_b = [b.start.remote(seconds=0.03) for _ in range(10)]
    of_a, of_b = ray.get(of_a), ray.get(of_b)
    ray.kill(a)
    wait_until(lambda: gone(*of_a))
    assert all(map(alive, of_b))


def test_one_that_ignores_sigterm_is_killed_with_what_it_has_started():
    a, _ = two()
    pid = ray.get(a.start_stubborn.remote())
    children = wait_until(lambda: Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    ray.kill(a)
    wait_until(lambda: gone(pid, *map(int, children)))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_of_multiprocessing_end_and_its_helpers_go_on(method):
    a, b = two()
    pids = [ray.get(a.start_by.remote(method)), ray.get(b.start_by.remote(method))]
    ray.kill(a)
    wait_until(lambda: gone(pids[0]))
    assert alive(pids[1])
    assert alive(ray.get(b.start_by.remote(method)))


@pytest.mark.parametrize("use", ["use_executor", "use_pool"])
def test_a_pool_that_others_use_goes_on(use):
    a, b = two()
    assert ray.get(getattr(a, use).remote(-1)) == 1
    assert ray.get(getattr(b, use).remote(-2)) == 2
    ended = ray.get(a.start_stubborn.remote())
    ray.kill(a)
    wait_until(lambda: gone(ended))  # by SIGKILL, which comes last
    assert ray.get(getattr(b, use).remote(-3), timeout=30) == 3


def test_what_a_thread_of_an_actor_has_started_ends_with_the_worker():
    a, b = two()
    pid = ray.get(a.start_in_thread.remote())
    ended = ray.get(a.start.remote())
    ray.kill(a)
    wait_until(lambda: gone(ended))
    assert alive(pid)
    os.kill(ray.get(b.host.remote()), signal.SIGKILL)
    wait_until(lambda: gone(pid))


def test_no_dead_process_stays_unwaited_for():
    host = ray.get(Starter.remote().host.remote())
    for _ in range(20):
        actor = Starter.remote()
        pid = ray.get(actor.start.remote())
        del actor
        wait_until(lambda pid=pid: gone(pid))
    ray.get(Starter.remote().start_many.remote(1))
    assert len(Path(f"/proc/{host}/task/{host}/children").read_text().split()) <= 3


def test_one_that_has_started_many_before_has_its_last():
    a, _ = two()
    pid = ray.get(a.start_many.remote(200))
    ray.kill(a)
    wait_until(lambda: gone(pid))


def test_the_end_of_one_does_not_disturb_a_wait_of_another():
    _, b = two()
    waited = b.start_and_wait.remote(1)
    for _ in range(5):
        other = Starter.remote()
        pid = ray.get(other.start.remote())
        ray.kill(other)
        wait_until(lambda pid=pid: gone(pid))
    assert ray.get(waited)[1] == 0


def test_a_process_that_it_has_itself_ended_and_waited_for_is_no_trouble():
    a, _ = two()
    assert ray.get(a.start_and_wait.remote(0))[1] == 0
    ray.kill(a)
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(a.host.remote())


def test_the_names_of_the_functions_are_kept():
    @ray.remote
    class Looks:
        def names(self):
            return (
                os.fork.__name__,
                os.posix_spawn.__module__,
                subprocess.run([sys.executable, "-c", "print(1)"], stdout=-1).stdout,
            )

    assert ray.get(Looks.remote().names.remote()) == ("fork", "posix", b"1\n")
