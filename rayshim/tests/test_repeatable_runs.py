"""`report().repeatable`: what is known to differ between runs, and where."""

import json
import os
import signal
import threading

import pytest

import rayshim
from rayshim.recording.repeatability import Reason, Repeatable
from rayshim.recording.reporting import Report


class Counter:
    def __init__(self):
        self.n = 0

    def add(self):
        self.n += 1
        return self.n

    def wait_for(self, ref):
        return rayshim.wait(ref, timeout=30)

    def pid(self):
        return os.getpid()


class Async(Counter):
    async def add(self):
        self.n += 1
        return self.n


@pytest.fixture(params=["isolated", "packed", "inline"])
def placement(request):
    return request.param


@pytest.fixture
def begin():
    def init(**how):
        rayshim.init(num_cpus=2, logging_level="ERROR", **{"seed": 1, **how})

    yield init
    rayshim.shutdown()


def reasons():
    return rayshim.report().repeatable.reasons


def only():
    (reason,) = reasons()
    return reason


def here(what, within):
    """Whether the reason's place is in this file, in the function `within`."""
    file, _, line = what.place.rpartition(":")
    first = within.__code__.co_firstlineno
    return file == __file__ and first <= int(line) <= first + 25


def test_a_run_in_serial_order_with_a_seed_is_repeatable(begin, placement):
    begin(placement=placement)
    counters = [rayshim.remote(Counter).remote() for _ in range(3)]
    assert rayshim.get([counter.add.remote() for counter in counters]) == [1, 1, 1]
    del counters
    found = rayshim.report().repeatable
    assert found and not found.reasons and repr(found).startswith("True")


def test_a_run_without_a_seed_is_not(begin, placement):
    begin(placement=placement, seed=None)
    assert "no seed" in only().what and not rayshim.report().repeatable
    assert "not repeatable" in str(rayshim.report())


def test_timeouts_kill_and_cancel_are_shown_with_their_places(begin, placement):
    begin(placement=placement)
    counter = rayshim.remote(Counter).remote()
    for _ in range(3):
        rayshim.wait([counter.add.remote()], timeout=30)
    rayshim.cancel(counter.add.remote())
    rayshim.kill(counter)
    found = {reason.what: reason for reason in reasons()}
    assert set(found) == {"wait() with a timeout", "cancel()", "kill()"}
    assert [found[what].times for what in ("wait() with a timeout", "cancel()", "kill()")] == [3, 1, 1]
    assert all(here(reason, test_timeouts_kill_and_cancel_are_shown_with_their_places) for reason in found.values())


def test_a_get_whose_time_is_up(begin):
    begin()
    with pytest.raises(rayshim.exceptions.GetTimeoutError):
        rayshim.get(rayshim.remote(lambda: signal.pause()).remote(), timeout=0.01)
    assert only().what == "get() whose time was up" and here(only(), test_a_get_whose_time_is_up)


def test_a_timeout_in_a_worker(begin, placement):
    begin(placement=placement)
    counter = rayshim.remote(Counter).remote()
    for _ in range(4):
        rayshim.get(counter.wait_for.remote([rayshim.put(1)]))
    assert only().what == "wait() with a timeout" and only().times == 4 and here(only(), Counter.wait_for)


def test_arrival_order(begin):
    begin(ordering="arrival")
    assert "order of their arrival" in only().what


def test_threads_of_the_driver(begin, placement):
    begin(placement=placement)
    counter = rayshim.remote(Counter).remote()
    counter.add.remote()
    program = {"get": rayshim.get, "counter": counter}
    exec(compile("def call():\n    get(counter.add.remote())", "program.py", "exec"), program)
    thread = threading.Thread(target=program["call"])
    thread.start()
    thread.join()
    assert only() == Reason("several threads of the driver make calls", "program.py:2", 1)


@pytest.mark.parametrize("cls, options", [(Async, {}), (Counter, {"max_concurrency": 2})])
def test_actors_that_run_several_calls_at_once(begin, placement, cls, options):
    begin(placement=placement)
    actors = [rayshim.remote(cls).options(**options).remote() for _ in range(2)]
    rayshim.get([actor.add.remote() for actor in actors])
    found = only()
    assert found.what == f"{cls.__name__} runs several calls at once" and found.times == 2
    assert here(found, test_actors_that_run_several_calls_at_once)


def test_a_restart_and_a_death(begin):
    begin()
    counters = [rayshim.remote(Counter).options(max_restarts=1).remote(), rayshim.remote(Counter).remote()]
    for counter in counters:
        os.kill(rayshim.get(counter.pid.remote()), signal.SIGKILL)
    for counter in counters:
        with pytest.raises(rayshim.exceptions.RayActorError):
            while True:
                rayshim.get(counter.add.remote())
                raise rayshim.exceptions.ActorDiedError
    assert {reason.what for reason in reasons()} == {"Counter was restarted", "the process of Counter has died"}


def test_a_death_in_a_task(begin):
    begin()

    @rayshim.remote(max_retries=0)
    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(rayshim.exceptions.WorkerCrashedError):
        rayshim.get(die.remote())
    assert only() == Reason("processes have died in tasks", "", 1)


def test_an_actor_on_a_gpu(begin):
    begin(num_gpus=1)
    actor = rayshim.remote(Counter).options(num_gpus=1).remote()
    rayshim.get(actor.add.remote())
    assert only().what.startswith("Counter uses a GPU") and here(only(), test_an_actor_on_a_gpu)


def test_generators_that_are_left_to_the_operating_system(begin, monkeypatch):
    monkeypatch.setenv("REACTOR_SEED_UNSEEDED", "0")
    begin()
    assert "REACTOR_SEED_UNSEEDED" in only().what


def test_it_prints_its_reasons_and_is_kept_in_the_dict_of_the_report():
    found = Repeatable([["wait() with a timeout", "a.py:3", 1200], ["b"]], ["c"])
    assert repr(found) == "False:\n  wait() with a timeout at a.py:3 (1,200)\n  b\n  note: c"
    counted = Report({"repeatable": found.to_dict()}).to_dict()
    assert Report(json.loads(json.dumps(counted))).repeatable == found
