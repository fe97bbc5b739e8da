"""Threaded actors of a recorded run: their threads take the same turns again."""

import os
import queue
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_futures

import pytest

import rayshim
from rayshim.tests import runs
from rayshim.tests.runs import some_time

pytestmark = pytest.mark.timeout(60)


def outcome(program, **how):
    return runs.outcome(program, **how)[0]


@rayshim.remote
def later(n):
    time.sleep(some_time())
    return n


@rayshim.remote(max_concurrency=4)
class Threaded:
    """Its log is what depends on the order of things."""

    def __init__(self):
        self.log, self.count, self.stopped = [], 0, False
        self.lock, self.reentrant, self.condition = threading.Lock(), threading.RLock(), threading.Condition()
        self.event, self.queue, self.pairs = threading.Event(), queue.Queue(3), [socket.socketpair() for _ in range(4)]
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
    for _ in range(3):
        assert outcome(program, replay=tmp_path / "run") == recorded


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
    monkeypatch.setenv("REACTOR_DELAYS", "2000")
    recorded = [outcome(many_callers, record=tmp_path / str(k), ordering="arrival") for k in range(2)]
    assert recorded[0] != recorded[1]
    for k, expected in enumerate(recorded):
        for _ in range(2):
            assert outcome(many_callers, replay=tmp_path / str(k)) == expected


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
    with pytest.raises(rayshim.exceptions.ReplayError, match="no longer matches its record: in the actor, .* its threads"):
        outcome(program, replay=tmp_path / "run")
