"""Threaded actors of a recorded run: their threads take the same turns again."""

import copy
import functools
import multiprocessing
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, as_completed
from concurrent.futures import TimeoutError as FutureTimeoutError
from concurrent.futures import wait as wait_for_futures

import pytest

import rayshim
from rayshim.tests import runs
from rayshim.tests.runs import some_time
from rayshim.tests.runs import value as outcome


@rayshim.remote
def later(n):
    time.sleep(some_time())
    return n


def lazy(log):
    """An object whose `value` takes its time when it is first read."""

    class Lazy:
        @functools.cached_property
        def value(self):
            time.sleep(0.01 + some_time())
            log.append("made")
            return len(log)

    return Lazy()


@rayshim.remote(max_concurrency=4)
class Threaded:
    """Its log is what depends on the order of things."""

    def __init__(self):
        self.log, self.count, self.stopped = [], 0, False
        self.lock, self.reentrant, self.condition = threading.Lock(), threading.RLock(), threading.Condition()
        self.event, self.queue, self.pairs = threading.Event(), queue.Queue(3), [socket.socketpair() for _ in range(4)]
        self.lazy = lazy(self.log)
        threading.Thread(target=self.background, daemon=True).start()

    def background(self):
        while True:
            time.sleep(some_time())
            self.log.append("background")

    def all(self):
        return self.log

    def with_a_race(self, n):
        for _ in range(20):
            count = self.count
            time.sleep(some_time() / 20)
            self.count = count + 1
        self.log.append((n, self.count))

    def with_computations(self, n):
        for k in range(5):
            count = self.count
            for _ in range(30_000):
                pass
            self.count = count + 1
            self.log.append((n, k, self.count))

    def with_locks(self, n):
        for k in range(4):
            with self.reentrant, self.reentrant:
                self.log.append((n, k))
                time.sleep(some_time() / 4)
            if self.lock.acquire(timeout=some_time() / 4):
                self.log.append((n, k, "locked"))
                time.sleep(some_time() / 4)
                self.lock.release()

    def with_conditions(self, n):
        for k in range(4):
            with self.condition:
                met = self.condition.wait_for(lambda: self.count > n, timeout=0.005)
                self.count += 1
                self.condition.notify()
            time.sleep(some_time() / 4)
            self.log.append((n, k, met, self.event.wait(some_time() / 2)))
            self.event.set() if k % 2 else self.event.clear()

    def with_queues(self, n):
        for k in range(6):
            if n % 2:
                time.sleep(some_time() / 2)
                self.queue.put((n, k))
            else:
                try:
                    self.log.append((n, self.queue.get(timeout=0.005)))
                except queue.Empty:
                    self.log.append((n, "empty"))
        while not n % 2 and not self.queue.empty():
            self.log.append((n, self.queue.get()))

    def with_threads_of_its_own(self, n):
        def work(k):
            time.sleep(some_time())
            self.log.append((n, k))
            return k

        with ThreadPoolExecutor(3) as pool:
            done, _ = wait_for_futures([pool.submit(work, k) for k in range(5)], return_when=FIRST_COMPLETED)
            self.log.append((n, sorted(future.result() for future in done)))
        timer = threading.Timer(some_time(), work, [5])
        timer.start()
        timer.join(some_time())
        self.log.append((n, timer.is_alive()))

    def with_timeouts_beside_work(self, n):
        for _ in range(8):
            if n == 0:
                with self.lock:
                    for _ in range(20_000):
                        pass
            else:
                if self.lock.acquire(timeout=0.002):
                    self.lock.release()
                with self.condition:
                    self.count += 1
                    assert self.count == 1, "two are inside"
                    time.sleep(some_time() / 10)
                    self.count -= 1
                self.log.append(n)

    def with_timeouts_of_executors(self, n):
        with ThreadPoolExecutor(2) as pool:
            futures = [pool.submit(time.sleep, some_time()) for _ in range(4)]
            try:
                for future in as_completed(futures, timeout=0.012):
                    self.log.append((n, futures.index(future)))
            except FutureTimeoutError:  # before Python 3.11 not the built-in one
                self.log.append((n, "late"))

    def with_futures_of_refs(self, n):
        refs = [later.remote(k) for k in range(3)]
        for ref in refs:
            ref.future().add_done_callback(lambda future: self.note((n, future.result())))
        for ref in refs:
            self.note((n, "got", ref.future().result()))

    def note(self, line):
        with self.lock:
            self.log.append(line)

    def with_finalizers(self, n):
        class Noted:
            def __del__(noted):
                self.note((n, noted.number))

        for k in range(200):
            noted = Noted()
            noted.itself, noted.number = noted, k
            del noted
            for _ in range(30):
                pass
            time.sleep(0.0001)

    def with_cached_properties(self, n):
        time.sleep(some_time())
        self.log.append((n, self.lazy.value))
        vars(self.lazy).pop("value", None)
        self.log.append((n, self.lazy.value))

    def with_processes(self, n):
        child = multiprocessing.get_context("fork").Process(target=lambda: sum(k for k in range(50_000)))
        child.start()
        child.join()
        self.log.append((n, child.exitcode, subprocess.run(["sleep", str(some_time())], timeout=10).returncode))

    def with_polling(self, n):
        if n == 2:
            time.sleep(some_time())
            self.stopped = True
        while not self.stopped:
            pass
        self.log.append(n)

    def with_calls(self, n):
        refs = [later.remote(k) for k in range(4)]
        done, _ = rayshim.wait(refs, timeout=some_time())
        self.log.append((n, rayshim.get(refs[0]), len(done)))
        try:
            rayshim.get(refs, timeout=some_time() / 4)
        except rayshim.exceptions.GetTimeoutError:
            self.log.append((n, "late"))

    def with_errors(self, n):
        time.sleep(some_time())
        self.log.append(n)
        raise KeyError(n)

    def with_something_unknown(self, n):
        if n:
            got = self.pairs[n][0].recv(1)
            self.log.append((n, got))
        else:
            for pair in self.pairs[1:]:
                done = subprocess.run(["sleep", str(0.015 + some_time())])
                self.log.append(done.returncode)
                pair[1].send(b"!")
                self.log.append("sent")

    def with_something_unknown_in_a_line(self, n):
        if n:
            self.log.append((n, self.pairs[n][0].recv(1)))
        else:
            time.sleep(0.05)
            for pair in self.pairs[1:]:
                pair[1].send(b"!")
                self.log.append("sent")

    def with_values(self, n):
        for k in range(5):
            time.sleep(some_time() / 2)
            self.log.append((n, k))
            yield len(self.log)


WAYS = [name for name in vars(Threaded._cls) if name.startswith("with_")]


@pytest.mark.parametrize("way", WAYS)
def test_whatever_its_threads_wait_for(tmp_path, way):
    if way == "with_something_unknown_in_a_line" and sys.version_info >= (3, 13):
        pytest.skip("from Python 3.13 on a thread that was blocked stops at its next line, not within one")

    def program(ray):
        actor = Threaded.remote()
        refs = [getattr(actor, way).remote(n) for n in range(4)]
        if way == "with_values":
            first, *others = refs
            refs = [next(first) for _ in range(2)] + [ref for values in others for ref in values]
            del first  # two of its values are not read
        values = runs.outcomes(ray, refs)
        return values, ray.get(actor.all.remote())

    recorded = outcome(program, record=tmp_path / "run")
    assert ("RayTaskError" in str(recorded[0])) == ("KeyError" in str(recorded[0])) == (way == "with_errors")
    for _ in range(3):
        assert outcome(program, replay=tmp_path / "run") == recorded


@pytest.mark.parametrize("way", ["with_threads_of_its_own", "with_timeouts_of_executors"])
def test_locks_of_modules_that_workers_have_from_birth(tmp_path, way, monkeypatch):
    monkeypatch.setattr(
        "rayshim.api.start.slow_imports", lambda *_, **__: ("concurrent.futures.thread",)
    )  # torch would bring it, and slow down all tests after this
    test_whatever_its_threads_wait_for(tmp_path, way)


def test_locks_are_those_of_python(tmp_path):
    def program(ray):
        @ray.remote(max_concurrency=2)
        class Actor:
            def work(self):
                lock, raised = threading.Lock(), []
                tried = [
                    lock.acquire(),
                    lock.acquire(False),
                    lock.acquire(timeout=0),
                    lock.acquire(timeout=0.01),
                    lock.locked(),
                ]
                lock.release()
                for call in (
                    lock.release,
                    lambda: lock.acquire(False, 1),
                    lambda: lock.acquire(timeout=-2),
                    lambda: lock.acquire(timeout=1e20),
                    lambda: copy.copy(lock),
                    threading.RLock().release,
                    lambda: time.sleep(-1),
                ):
                    try:
                        call()
                    except Exception as error:
                        raised.append(type(error).__name__)
                began, stack_size = time.monotonic(), threading.stack_size(1 << 46)
                try:
                    threading.Thread(target=print).start()
                except RuntimeError:
                    raised.append("no thread")
                threading.stack_size(stack_size)
                time.sleep(0.02)
                return tried, raised, time.monotonic() - began >= 0.02

        return ray.get(Actor.remote().work.remote())

    plain = outcome(program)
    assert plain[0] == [True, False, False, False, True] and len(plain[1]) == 8 and plain[2]
    assert outcome(program, record=tmp_path / "run") == outcome(program, replay=tmp_path / "run") == plain


def many_callers(ray):
    @ray.remote(max_concurrency=3, concurrency_groups={"io": 2})
    class Actor:
        def __init__(self, log):
            self.log, self.lines = log, []

        @ray.method(concurrency_group="io")
        def send(self, n):
            for k in range(3):
                time.sleep(some_time())
                self.log.add.remote((n, k))
            return len(ray.get(self.log.all.remote()))

        def note(self, n):
            time.sleep(some_time())
            self.lines.append(n)
            return list(self.lines)

    @ray.remote
    def caller(actor, n):
        return [ray.get([actor.send.remote((n, k)), actor.note.remote((n, k))]) for k in range(3)]

    log = ray.remote(runs.Log).remote()
    actor = Actor.remote(log)
    return ray.get([caller.remote(actor, n) for n in range(4)]), ray.get(log.all.remote())


def test_calls_that_it_makes_while_others_come_to_it(tmp_path, monkeypatch):
    runs.differs_and_is_replayed(many_callers, tmp_path, monkeypatch)


class Pace:
    """What a program does otherwise in its replays."""

    seconds = rounds = None


def test_calls_are_cancelled_where_they_were(tmp_path):
    def program(ray):
        @ray.remote(max_concurrency=2)
        class Actor:
            def __init__(self):
                self.lines = []

            def work(self, n):
                while not ray.get_runtime_context().is_canceled():
                    time.sleep(some_time())
                    self.lines.append(n)

            def all(self):
                return self.lines

        actor = Actor.remote()
        refs = [actor.work.remote(n) for n in range(4)]
        time.sleep(Pace.seconds)
        for ref in refs:
            ray.cancel(ref)
        return runs.outcomes(ray, refs), ray.get(actor.all.remote())

    Pace.seconds = 0.05
    recorded = outcome(program, record=tmp_path / "run")
    assert recorded[0] == ["TaskCancelledError"] * 4
    for Pace.seconds in (0, 0.2):
        assert outcome(program, replay=tmp_path / "run") == recorded


@pytest.mark.parametrize("how", ["kill", "exit"])
def test_an_actor_that_ends_has_gone_on_as_far_as_then(tmp_path, how):
    def program(ray):
        @ray.remote
        class Log(runs.Log):
            def add(self, line):
                super().add(line)
                if len(self.lines) == 20:
                    (tmp_path / "twenty").touch()

        @ray.remote(max_concurrency=3)
        class Actor:
            def send(self, log, n):
                k = 0
                while True:
                    time.sleep(some_time())
                    log.add.remote((n, k))
                    k += 1
                    if how == "exit" and k == 20:
                        os._exit(1)

        log, actor = Log.remote(), Actor.remote()
        refs = [actor.send.remote(log, n) for n in range(3)]
        while not (tmp_path / "twenty").exists():
            time.sleep(0.001)
        if how == "kill":
            time.sleep(Pace.seconds)
            ray.kill(actor)
        return runs.outcomes(ray, refs), ray.get(log.all.remote())

    Pace.seconds = 0.1
    recorded = outcome(program, record=tmp_path / "run")
    assert recorded[0] == ["ActorDiedError"] * 3 and len(recorded[1]) >= 20
    for Pace.seconds in (0, 0.4):
        assert outcome(program, replay=tmp_path / "run") == recorded


def test_a_program_whose_threads_wait_less_often_is_told(tmp_path):
    def program(ray):
        @ray.remote(max_concurrency=2)
        class Actor:
            def work(self, rounds):
                for _ in range(rounds):
                    time.sleep(0.001)

        actor = Actor.remote()
        ray.get([actor.work.remote(Pace.rounds) for _ in range(3)])

    Pace.rounds = 3
    outcome(program, record=tmp_path / "run")
    Pace.rounds = 2
    with pytest.raises(
        rayshim.exceptions.ReplayError, match="no longer matches its journal: in the actor, .* its threads"
    ):
        outcome(program, replay=tmp_path / "run")
