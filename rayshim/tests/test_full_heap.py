"""A call for which the shared heap has no room: a MemoryError, and nothing stays of it."""

import os
import signal
import time

import numpy as np
import pytest
from reactor.runtime.driver import driver

import rayshim
from compat_tests.processes import wait_until

HEAP = 96 << 20


@pytest.fixture
def start(monkeypatch):
    def start(placement, **how):
        monkeypatch.setattr(driver, "_heap_capacity", lambda store_limit: HEAP)
        rayshim.init(
            num_cpus=2,
            placement=placement,
            logging_level="ERROR",
            learn_patterns=False,
            _system_config={"automatic_object_spilling_enabled": False},
            **how,
        )

    yield start
    rayshim.shutdown()


def filled(*calls):
    """Refs to small values that leave no room for another, and then the results of `calls`, each made until there is no room for it."""
    refs, results = [], []
    with pytest.raises(MemoryError, match="no room in the shared heap: delete refs and arrays"):
        while True:
            refs.append(rayshim.put(1))
    for call in calls:
        with pytest.raises(MemoryError, match="no room in the shared heap"):
            while True:
                results.append(call.remote())
    return refs, results


@rayshim.remote(num_returns=1000)
def thousand(*args):
    return range(1000)


@rayshim.remote
def one(*args):
    return 1


@rayshim.remote
class Actor:
    @rayshim.method(num_returns=1000)
    def thousand(self, *args):
        return range(1000)

    def one(self, *args):
        return 1

    def pid(self):
        return os.getpid()


@pytest.mark.parametrize("placement", ["isolated", "packed", "inline"])
def test_results_without_room_are_given_back(start, placement):
    start(placement, object_store_memory=4 * HEAP)
    actor = Actor.remote()
    assert rayshim.get([actor.one.remote(), one.remote(), actor.thousand.remote()[0], thousand.remote()[0]]) == [
        1,
        1,
        0,
        0,
    ]
    refs, results = filled(thousand, actor.thousand)
    argument = refs[0]
    del refs[-300:]  # room for some of the results
    held = argument.holds
    for many in (thousand, actor.thousand):
        for _ in range(20):
            with pytest.raises(MemoryError, match="no room in the shared heap"):
                many.remote(argument, 2)
    assert argument.holds == held
    assert len([rayshim.put(1) for _ in range(200)]) == 200
    del refs[:], results[:]
    assert rayshim.get([actor.one.remote(2), one.remote(argument)]) == [1, 1]
    assert rayshim.get(actor.thousand.remote())[-1] == rayshim.get(thousand.remote(3))[-1] == 999


@pytest.mark.parametrize("placement", ["isolated", "inline"])
def test_large_arguments_without_room_are_given_back(start, placement):
    start(placement, object_store_memory=24 << 20)
    actor, inner = Actor.remote(), rayshim.put("inner")
    assert rayshim.get([actor.one.remote(), one.remote()]) == [1, 1]
    kept = rayshim.put(np.zeros(20 << 20, np.uint8))
    held = inner.holds
    for call in (actor.one, one):
        with pytest.raises(rayshim.exceptions.ObjectStoreFullError, match="Failed to put an object of 8454144 bytes"):
            call.remote(np.ones(8 << 20, np.uint8), [inner], inner)
    assert inner.holds == held
    del kept
    for call in (actor.one, one):
        assert rayshim.get(call.remote(np.ones(8 << 20, np.uint8), [inner], inner)) == 1


@rayshim.remote(max_retries=1)
def pid_when_open(marks):
    (marks / str(os.getpid())).touch()
    while not (marks / "open").exists():
        time.sleep(0.01)
    return os.getpid()


@rayshim.remote(max_restarts=1, max_task_retries=1)
class Restarted:
    def pid(self):
        return os.getpid()


@pytest.mark.parametrize("placement", ["isolated", "packed"])
def test_processes_that_die_in_a_full_heap_are_replaced(start, placement, tmp_path):
    """The next process takes room from what is kept for the runtime, and so does what the supervisor tells of a death."""
    start(placement, object_store_memory=4 * HEAP)
    lost, back = Actor.options(num_cpus=0).remote(), Restarted.options(num_cpus=0).remote()
    lost_pid = rayshim.get(lost.pid.remote())
    back_pid = rayshim.get(back.pid.remote())
    calls = [pid_when_open.remote(tmp_path), back.pid.remote(), lost.pid.remote()]
    rayshim.get(calls[1:])
    task_pid = int(wait_until(lambda: [mark.name for mark in tmp_path.iterdir()])[0])
    refs, _ = filled()
    for pid in {lost_pid, back_pid, task_pid}:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: len(list(tmp_path.iterdir())) == 2, 30, "the second try begins")
    (tmp_path / "open").touch()
    assert rayshim.get(calls[0]) != task_pid
    del refs[:]
    with pytest.raises(rayshim.exceptions.ActorDiedError):
        rayshim.get(lost.pid.remote())
    assert rayshim.get(back.pid.remote()) not in (back_pid, os.getpid())
