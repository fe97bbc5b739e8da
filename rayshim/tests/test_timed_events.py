"""Timed order with what is not a plain call: generators, async actors, threads of the program, deaths, barriers outside of rayshim."""

import asyncio
import os
import signal
import threading
import time

import pytest
from reactor import _core

import rayshim
from rayshim.tests.runs import Log, Slow, outcome, outcomes, some_time, value
from rayshim.util.queue import Queue

DEATH = 1  # a bit of `_core.timed_lost`


@pytest.fixture(params=["isolated", "packed"])
def how(request, tmp_path):
    return {"ordering": "timed", "timing": tmp_path / "run.timing", "placement": request.param, "seed": 1}


def generators(ray):
    """Two readers of generators tell one actor what they have read."""

    @ray.remote
    def count(start):
        for number in range(start, start + 8):
            time.sleep(some_time())
            yield number

    @ray.remote
    class Reader:
        def read(self, start, log):
            for ref in count.remote(start):
                log.add.remote(ray.get(ref))

    log = ray.remote(Log).remote()
    readers = [Reader.remote() for _ in range(2)]
    ray.get([reader.read.remote(100 * k, log) for k, reader in enumerate(readers)])
    return ray.get(log.all.remote())


def queue(ray):
    """Three producers fill a queue, and its actor has coroutines that wait for each other."""

    @ray.remote
    def produce(queue, name):
        for number in range(6):
            time.sleep(some_time())
            queue.put((name, number))

    shared = Queue(maxsize=2)
    produced = [produce.remote(shared, name) for name in "abc"]
    taken = [shared.get() for _ in range(18)]
    ray.get(produced)
    return taken


def awaited_refs(ray):
    """An async actor awaits the results of others, and its coroutines change one list."""

    @ray.remote
    class Gatherer:
        def __init__(self, workers):
            self.workers, self.seen = workers, []

        async def ask(self, number):
            self.seen.append(("asked", number))
            self.seen.append(("got", await self.workers[number % len(self.workers)].work.remote(number)))
            return len(self.seen)

        async def all(self):
            return self.seen

    gatherer = Gatherer.remote([ray.remote(Slow).remote() for _ in range(3)])
    counts = ray.get([gatherer.ask.remote(number) for number in range(12)])
    return counts, ray.get(gatherer.all.remote())


@pytest.mark.parametrize("program", [generators, queue, awaited_refs])
def test_later_runs_have_the_result_of_the_measured_one(program, how):
    measured = outcome(program, **how)
    assert outcome(program, **how) == measured
    assert outcome(program, **how) == measured


def calls_in_threads(ray):
    """An actor's own thread makes calls while the driver and another actor make some, too."""

    @ray.remote
    class Threaded:
        def start(self, log):
            threading.Thread(target=self.run, args=[log], daemon=True).start()

        def run(self, log):
            for number in range(10):
                ray.get(log.add.remote(("thread", number)))

    @ray.remote
    class Player:
        def run(self, log):
            for number in range(10):
                ray.get(log.add.remote(("player", number)))
                time.sleep(some_time())

    log = ray.remote(Log).remote()
    threaded, player = Threaded.remote(), Player.remote()
    ray.get(threaded.start.remote(log))
    playing = player.run.remote(log)
    while len(ray.get(log.all.remote())) < 20:
        time.sleep(0.001)
    ray.get(playing)
    return sorted(ray.get(log.all.remote()))


def test_calls_of_the_programs_threads_run_too(how):
    assert value(calls_in_threads, **how) == value(calls_in_threads, **how) == value(calls_in_threads, **how)


def one_is_killed(ray, kills=True):
    """(outcomes of three players, how many lines the others and the log have, what is lost) when the first is killed in the middle."""

    @ray.remote
    class Player:
        def pid(self):
            return os.getpid()

        def run(self, log, name):
            for _ in range(15):
                ray.get(log.add.remote(name))
                time.sleep(some_time())
            return name

    log = ray.remote(Log).remote()
    players = [Player.remote() for _ in range(3)]
    pid = ray.get(players[0].pid.remote())
    running = [player.run.remote(log, name) for player, name in zip(players, "abc", strict=True)]
    while not ray.get(log.all.remote()):
        time.sleep(0.001)
    if kills:
        os.kill(pid, signal.SIGKILL)
    found = outcomes(ray, running)
    lines = ray.get(log.all.remote())
    return found, [lines.count(name) for name in "bc"], _core.timed_lost()


def test_after_a_death_the_others_go_on_and_the_run_says_so(tmp_path):
    how = {"ordering": "timed", "timing": tmp_path / "run.timing", "placement": "isolated", "seed": 1}
    value(lambda ray: one_is_killed(ray, kills=False), **how)
    found, lines, lost = value(one_is_killed, **how)
    assert list(found) == ["ActorDiedError", "b", "c"] and list(lines) == [15, 15] and lost & DEATH


def one_restarts(ray, cls):
    """What two players get from an actor that is killed in the middle of their calls and made again."""

    @ray.remote
    class Player:
        def run(self, actor, name):
            return [ray.get(actor.answer.remote((name, number))) for number in range(15)]

    actor = ray.remote(cls).options(max_restarts=1, max_task_retries=-1).remote()
    playing = [Player.remote().run.remote(actor, name) for name in "ab"]
    time.sleep(0.02)
    os.kill(ray.get(actor.pid.remote()), signal.SIGKILL)
    return ray.get(playing)


class Answers:
    def pid(self):
        return os.getpid()

    def answer(self, question):
        time.sleep(some_time())
        return question


class AnswersLater:
    def pid(self):
        return os.getpid()

    async def answer(self, question):
        await asyncio.sleep(some_time())
        return question


class AnswersInThreads:
    def __init__(self):
        threading.Thread(target=time.sleep, args=[0]).start()

    pid, answer = Answers.pid, Answers.answer


@pytest.mark.parametrize("cls", [Answers, AnswersLater, AnswersInThreads])
def test_an_actor_that_restarts_answers_all_calls(cls, how):
    for _ in range(2):
        assert value(lambda ray: one_restarts(ray, cls), **how) == [[[name, k] for k in range(15)] for name in "ab"]


class Leaves:
    async def work(self):
        await asyncio.sleep(0.05)
        return "done"

    async def leave(self):
        rayshim.actor.exit_actor()


class LeavesInThreads:
    def work(self):
        time.sleep(0.05)
        return "done"

    def leave(self):
        rayshim.actor.exit_actor()


@pytest.mark.parametrize(("cls", "options"), [(Leaves, {}), (LeavesInThreads, {"max_concurrency": 3})])
def test_what_is_at_work_beside_the_end_of_an_actor_is_done(cls, options, how):
    def program(ray):
        actor = ray.remote(cls).options(**options).remote()
        calls = [actor.work.remote() for _ in range(2)]
        time.sleep(0.02)
        calls += [actor.leave.remote(), actor.work.remote()]
        return outcomes(ray, calls)[:2]

    for _ in range(2):
        assert value(program, **how) == ["done", "done"]


def meet_outside(ray, folder):
    """Two actors wait for each other through files, and each is called by another one, in the middle of calls to one log."""

    @ray.remote
    class Party:
        def meet(self, log, me, other):
            ray.get(log.add.remote(me))
            open(os.path.join(folder, me), "w").close()
            while not os.path.exists(os.path.join(folder, other)):
                time.sleep(0.002)
            ray.get(log.add.remote(me))

    log = ray.remote(Log).remote()
    parties = [Party.remote() for _ in range(2)]
    ray.get([parties[0].meet.remote(log, "x", "y"), parties[1].meet.remote(log, "y", "x")])
    return sorted(ray.get(log.all.remote()))


def test_a_barrier_outside_of_rayshim_ends(how, tmp_path):
    for k in range(3):
        folder = tmp_path / str(k)
        folder.mkdir()
        assert value(lambda ray, folder=folder: meet_outside(ray, str(folder)), **how) == ["x", "x", "y", "y"]


def test_an_actor_that_cannot_be_made_ends_its_calls(how):
    def program(ray):
        @ray.remote
        class Broken:
            def __init__(self):
                raise ValueError("no")

            def call(self):
                pass

        @ray.remote
        def fine():
            return 1

        broken = Broken.remote()
        return outcomes(ray, [broken.call.remote(), fine.remote()])

    assert list(value(program, **how)) == list(value(program, **how)) == ["ActorDiedError", 1]
    assert rayshim.is_initialized() is False
