"""Timed order: threads of threaded actors, of concurrency groups, and those that methods and constructors start take turns."""

import asyncio
import queue
import socket
import sqlite3
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

import pytest

import rayshim
from rayshim.tests.runs import Log, Slow, outcome, some_time, value


@pytest.fixture(params=["isolated", "packed"])
def how(request, tmp_path):
    return {"ordering": "timed", "timing": tmp_path / "run.timing", "placement": request.param, "seed": 1}


def players(ray, number, target):
    """Actors that wait and then give `target`, a method, their number and that of the round; they return its answers."""

    @ray.remote
    class Player:
        def play(self, name):
            answers = []
            for turn in range(12):
                time.sleep(some_time())
                answers.append(ray.get(target.remote((name, turn))))
            return answers

    return [Player.remote().play.remote(name) for name in range(number)]


def locks(ray):
    """A replay buffer with a lock, as many programs have it, and a learner that polls it."""

    @ray.remote(max_concurrency=4)
    class Replay:
        def __init__(self):
            self.lock, self.items = threading.Lock(), []

        def add(self, item):
            with self.lock:
                self.items.append(item)
                time.sleep(0.0005)  # others wait for the lock
                return len(self.items)

        def all(self):
            with self.lock:
                return list(self.items)

    replay = Replay.remote()
    playing = players(ray, 3, replay.add)
    seen = []
    while len(ray.wait(playing, num_returns=3, timeout=0)[0]) < 3:
        seen.append(len(ray.get(replay.all.remote())))
        time.sleep(0.003)
    return ray.get(playing), seen, ray.get(replay.all.remote())


def a_loop_of_one_thread(ray):
    """One call runs a loop that other calls feed by a queue and wait for by a condition, with timeouts that are up now and then."""

    @ray.remote(max_concurrency=4)
    class Learner:
        def __init__(self, weights):
            self.queue, self.changed, self.weights = queue.Queue(maxsize=2), threading.Condition(), weights
            self.seen, self.stopped = [], False

        def run(self):
            while not self.stopped:
                try:
                    item = self.queue.get(timeout=0.005)
                except queue.Empty:
                    self.seen.append("empty")
                    continue
                version = ray.get(self.weights.add.remote(item))
                time.sleep(0.002)
                with self.changed:
                    self.seen.append((item, version))
                    self.changed.notify_all()
            return self.seen

        def put(self, item):
            try:
                self.queue.put(item, timeout=0.001)
            except queue.Full:
                return "full"
            with self.changed:
                return self.changed.wait_for(lambda: len(self.seen) > item[1], timeout=0.004), len(self.seen)

        def stop(self):
            self.stopped = True

    learner = Learner.remote(ray.remote(Log).remote())
    running = learner.run.remote()
    answers = ray.get(players(ray, 3, learner.put))
    ray.get(learner.stop.remote())
    return answers, ray.get(running)


def pools(ray):
    """Calls that start threads: an executor's, and one of their own; each waits for refs; a generator among them."""

    @ray.remote(max_concurrency=3)
    class Searcher:
        def __init__(self, workers):
            self.workers, self.executor, self.lock, self.log = workers, ThreadPoolExecutor(3), threading.RLock(), []

        def search(self, start):
            def evaluate(number):
                found = ray.get(self.workers[number % len(self.workers)].work.remote(number))
                with self.lock:
                    self.log.append(found)
                return found

            futures = [self.executor.submit(evaluate, start + number) for number in range(5)]
            return [future.result() for future in as_completed(futures)]

        def first_of(self, start):
            refs = [worker.work.remote(start + number) for number, worker in enumerate(self.workers)]
            order = []
            while refs:
                ready, refs = ray.wait(refs)
                order += ray.get(ready)
            return order

        def beside(self):
            def add():
                for number in range(4):
                    time.sleep(0.002)
                    self.log.append(-number)

            thread = threading.Thread(target=add)
            thread.start()
            thread.join(0.003)
            return thread.is_alive(), thread.join()

        def lengths(self):
            for _ in range(4):
                time.sleep(0.002)
                yield len(self.log)

        def all(self):
            return self.log

    searcher = Searcher.remote([ray.remote(Slow).remote() for _ in range(3)])
    lengths = searcher.lengths.options(num_returns="streaming").remote()
    calls = [
        searcher.search.remote(0),
        searcher.first_of.remote(100),
        searcher.beside.remote(),
        searcher.search.remote(200),
    ]
    return ray.get(calls), [ray.get(length) for length in lengths], ray.get(searcher.all.remote())


def groups(ray):
    """Calls of one group wait for an event that those of another one set."""

    @ray.remote(concurrency_groups={"io": 2, "learn": 1})
    class Server:
        def __init__(self):
            self.items, self.come = [], threading.Event()

        @ray.method(concurrency_group="learn")
        def learn(self, rounds):
            sizes = []
            for _ in range(rounds):
                self.come.wait()
                self.come.clear()
                time.sleep(0.002)
                sizes.append(len(self.items))
            return sizes

        @ray.method(concurrency_group="io")
        def add(self, item):
            self.items.append(item)
            self.come.set()
            return len(self.items)

        def all(self):
            return self.items

    server = Server.remote()
    learning = server.learn.remote(6)
    return ray.get(players(ray, 3, server.add)), ray.get(learning), ray.get(server.all.remote())


def a_thread_of_the_constructor(ray):
    """An ordinary actor whose constructor starts a thread that looks at another actor now and then."""

    @ray.remote
    class Evaluator:
        def __init__(self, log):
            self.log, self.seen, self.over = log, [], False
            self.thread = threading.Thread(target=self.look, daemon=True)
            self.thread.start()

        def look(self):
            while not self.over:
                self.seen.append(len(ray.get(self.log.all.remote())))
                time.sleep(0.003)

        def end(self):
            self.over = True
            self.thread.join()
            return self.seen

    log = ray.remote(Log).remote()
    evaluator = Evaluator.remote(log)
    ray.get(players(ray, 3, log.add))
    return ray.get(evaluator.end.remote()), ray.get(log.all.remote())


def what_else_waits(ray):
    """Processes, event loops and generators that threads wait for, the first failure of a list, and a constructor that waits for its threads."""

    @ray.remote
    def fail():
        raise ValueError("no")

    @ray.remote
    def count(number):
        for k in range(number):
            time.sleep(some_time())
            yield k

    @ray.remote(max_concurrency=4)
    class Waiter:
        def __init__(self, log):
            with ThreadPoolExecutor(2) as executor:
                self.made = list(executor.map(abs, range(-3, 0)))
            self.log = log

        def process(self):
            done = subprocess.run(["echo", "text"], capture_output=True, timeout=30, check=True)
            return ray.get(self.log.add.remote(done.stdout)), self.made

        def loop(self):
            async def tell(name):
                for number in range(4):
                    await asyncio.sleep(0.001)
                    await self.log.add.remote((name, number))

            async def both():
                await asyncio.gather(tell("a"), tell("b"))

            asyncio.run(both())

        def streams(self):
            left, order = [count.remote(4), count.remote(3)], []
            while left:
                ready, _ = ray.wait(left)
                for stream in ready:
                    try:
                        order.append(ray.get(next(stream)))
                    except StopIteration:
                        left.remove(stream)
            return order

        def first_failure(self):
            slow = ray.remote(Sleeper).remote().sleep.remote(0.5)
            try:
                ray.get([fail.remote(), slow])
            except ray.exceptions.RayTaskError:
                return len(ray.wait([slow], timeout=0)[0]), ray.get(slow)
            return None

    class Sleeper:
        def sleep(self, seconds):
            time.sleep(seconds)

    log = ray.remote(Log).remote()
    waiter = Waiter.remote(log)
    calls = [waiter.process.remote(), waiter.loop.remote(), waiter.streams.remote(), waiter.first_failure.remote()]
    return ray.get(calls), ray.get(log.all.remote())


@pytest.mark.parametrize(
    "program", [locks, a_loop_of_one_thread, pools, groups, a_thread_of_the_constructor, what_else_waits]
)
def test_what_threads_do_repeats(program, how):
    measured = outcome(program, **how)
    assert outcome(program, **how) == measured
    assert outcome(program, **how) == measured


@pytest.mark.parametrize("program", [groups, a_thread_of_the_constructor])
def test_such_a_run_counts_as_repeatable(program, tmp_path):
    how = {"ordering": "timed", "timing": tmp_path / "run.timing", "seed": 1}
    value(program, **how)
    rayshim.init(num_cpus=4, logging_level="ERROR", **how)
    try:
        program(rayshim)
        assert not rayshim.report().repeatable.reasons
    finally:
        rayshim.shutdown()


def a_server_of_sockets(ray):
    """A thread that is blocked in what is not known keeps the actor's calls from running for a second only."""

    @ray.remote
    class Server:
        def __init__(self):
            self.socket, self.served = socket.create_server(("127.0.0.1", 0)), 0
            threading.Thread(target=self.serve, daemon=True).start()

        def serve(self):
            while True:
                peer, _ = self.socket.accept()
                self.served += 1
                peer.sendall(b"x")
                peer.close()

        def port(self):
            return self.socket.getsockname()[1]

    server = Server.remote()
    with socket.create_connection(("127.0.0.1", ray.get(server.port.remote()))) as peer:
        got = peer.recv(1)
    return got, [str(reason) for reason in ray.report().repeatable.reasons]


def spinning(ray):
    """A call that computes until another one stops it."""

    @ray.remote(max_concurrency=2)
    class Spinner:
        stopped = False

        def run(self):
            while not self.stopped:
                pass
            return "stopped"

        def stop(self):
            self.stopped = True
            return threading.get_ident()

    spinner = Spinner.remote()
    running = spinner.run.remote()
    ray.get(spinner.stop.remote())
    found = ray.get(running)
    ray.get([spinner.stop.remote() for _ in range(20)])  # the thread that has lost its turn goes on with calls
    return found, [str(reason) for reason in ray.report().repeatable.reasons]


@pytest.mark.parametrize(("program", "result"), [(a_server_of_sockets, b"x"), (spinning, "stopped")])
def test_a_thread_that_does_not_wait_loses_its_turn_and_the_report_says_so(program, result, tmp_path):
    found, reasons = value(program, ordering="timed", timing=tmp_path / "run.timing", seed=1)
    assert found == result
    assert any("a thread ran, or was blocked, for more than" in reason for reason in reasons)


def test_an_ordinary_actor_that_starts_threads_lives_in_one_thread(how):
    def program(ray):
        @ray.remote
        class Store:
            def __init__(self):
                self.ident, self.timer = threading.get_ident(), threading.Timer(0.001, int)
                self.table = sqlite3.connect(":memory:")  # for one thread only
                self.table.execute("create table t (x)")
                self.timer.start()

            def add(self, number):
                self.table.execute("insert into t values (?)", (number,))
                return self.ident == threading.get_ident(), self.table.execute("select sum(x) from t").fetchone()[0]

        store = Store.remote()
        return ray.get([store.add.remote(number) for number in range(4)])

    expected = [[True, total] for total in (0, 1, 3, 6)]
    assert value(program, **how) == value(program, **how) == expected
