"""What the threads of an actor or a task still have to do when their process ends in an orderly way is done; and how such threads look."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

pytestmark = [pytest.mark.needs_processes, pytest.mark.needs_own_processes]


@pytest.fixture
def writer(ray, gate):
    """An actor class whose methods let a thread, or a thread pool, touch a gate half a second later."""

    @ray.remote
    class Writer:
        def __init__(self):
            self.pool = ThreadPoolExecutor(1)

        def work(self):
            time.sleep(0.5)
            gate.touch("written")

        def in_pool(self):
            self.pool.submit(lambda: None)
            self.pool.submit(self.work)

        def in_thread(self):
            threading.Thread(target=self.work).start()

        def in_timer(self):
            threading.Timer(0.5, gate.touch, ("written",)).start()

        def leave(self):
            ray.actor.exit_actor()

    return Writer


@pytest.mark.parametrize("way, concurrency", [("in_pool", 1), ("in_pool", 2), ("in_thread", 1), ("in_timer", 1)])
def test_work_of_threads_is_done_after_the_last_handle(ray, gate, writer, way, concurrency):
    actor = writer.options(max_concurrency=concurrency).remote()
    ray.get(getattr(actor, way).remote())
    del actor
    gate.wait_for("written", 15)


def test_and_after_exit_actor(ray, gate, writer):
    actor = writer.remote()
    ray.get(actor.in_pool.remote())
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(actor.leave.remote())
    gate.wait_for("written", 15)


def test_a_thread_is_told_to_end_before_it_is_waited_for(ray, gate):
    @ray.remote
    class Actor:
        def __init__(self):
            self.stop = threading.Event()

        def begin(self):
            threading.Thread(target=self.stop.wait).start()

        def __ray_shutdown__(self):
            self.stop.set()
            gate.touch("told")

    actor = Actor.remote()
    ray.get(actor.begin.remote())
    begun = time.monotonic()
    del actor
    gate.wait_for("told", 15)
    assert time.monotonic() - begun < 10


def test_a_join_of_the_programs_own_does_not_matter(ray, gate):
    class Mine(threading.Thread):
        def run(self):
            time.sleep(0.3)
            gate.touch("written")

        def join(self, timeout=None):
            raise ValueError("mine")

    @ray.remote
    class Actor:
        def begin(self):
            Mine().start()

    actor = Actor.remote()
    ray.get(actor.begin.remote())
    del actor
    gate.wait_for("written", 15)


def test_and_in_a_task_whose_process_ends_with_it(ray, gate):
    @ray.remote(max_calls=1)
    def begin():
        def work():
            time.sleep(0.5)
            gate.touch("written")

        threading.Thread(target=work).start()

    ray.get(begin.remote())
    gate.wait_for("written", 15)


def test_and_in_an_async_actor_where_threads_are_no_daemons(ray, gate):
    @ray.remote
    class Actor:
        async def begin(self):
            def work():
                time.sleep(0.5)
                gate.touch("written")

            thread = threading.Thread(target=work)
            thread.start()
            return thread.daemon

    actor = Actor.remote()
    assert ray.get(actor.begin.remote()) is False
    del actor
    gate.wait_for("written", 15)


def test_the_main_thread_has_the_number_of_its_process(ray):
    @ray.remote
    class Actor:
        def numbers(self):
            return threading.main_thread().native_id, os.getpid()

    native_id, pid = ray.get(Actor.remote().numbers.remote())
    assert native_id == pid


@pytest.mark.parametrize("concurrency", [1, 2])
def test_a_child_that_an_actor_forks_survives_sigint(ray, concurrency):
    @ray.remote(max_concurrency=concurrency)
    class Actor:
        def child(self):
            pid = os.fork()
            if pid == 0:
                end = time.monotonic() + 1
                while time.monotonic() < end:
                    time.sleep(0.01)
                os._exit(3)
            time.sleep(0.3)
            os.kill(pid, signal.SIGINT)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    assert ray.get(Actor.remote().child.remote()) == 3
