"""Timed order with time itself: the logical clock, and the timers of event loops."""

import asyncio
import email.utils
import threading
import time
from time import monotonic as from_time_imported

import pytest

import rayshim
from rayshim.tests.runs import Log, Slow, outcome, some_time
from rayshim.timing import file

REAL = [time.monotonic]
WEEK = 7 * 24 * 3600


@pytest.fixture(params=["isolated", "packed"])
def how(request, tmp_path):
    return {"ordering": "timed", "timing": tmp_path / "run.timing", "placement": request.param, "seed": 1}


def trains_for_a_while(ray):
    """Two workers and the driver work until a time is over, and tell what the clocks have shown."""

    @ray.remote
    class Worker:
        def run(self, seconds):
            end, steps = time.perf_counter() + seconds, []
            while time.perf_counter() < end:
                time.sleep(some_time() / 3)
                steps.append(time.time_ns())
            return steps

    workers = [Worker.remote() for _ in range(2)]
    working = [worker.run.remote(0.1) for worker in workers]
    start, turns = time.monotonic(), 0
    while time.monotonic() - start < 0.15:
        ray.wait(working, num_returns=2, timeout=0.01)
        turns += 1
    return turns, ray.get(working), time.time()


def test_a_run_until_a_time_is_over_has_one_result(how):
    before = time.time()
    measured = outcome(trains_for_a_while, clock="logical", **how)
    assert before <= measured[0][2] <= time.time()
    for _ in range(2):
        assert outcome(trains_for_a_while, clock="logical", **how) == measured


def test_runs_in_the_other_placement_see_the_same_times(tmp_path):
    how = {"ordering": "timed", "timing": tmp_path / "run.timing", "seed": 1, "clock": "logical"}
    assert outcome(trains_for_a_while, placement="packed", **how) == outcome(
        trains_for_a_while, placement="isolated", **how
    )


def test_the_clocks_are_logical_for_the_program_only_and_until_the_session_ends(tmp_path):
    how = {"num_cpus": 1, "logging_level": "ERROR", "ordering": "timed", "timing": tmp_path / "a", "clock": "logical"}
    rayshim.init(**how)
    rayshim.shutdown()
    timings = file.read(tmp_path / "a")
    assert timings.clock == "logical"
    assert abs(timings.began[0] * 1e-9 - time.time()) < WEEK / 7
    # The measured run was a week ago.
    file.write(tmp_path / "a", timings._replace(began=(timings.began[0] - WEEK * 10**9, timings.began[1])))
    rayshim.init(**how)
    try:
        now = time.time()
        assert from_time_imported is not REAL[0]
        assert from_time_imported.__name__ == "monotonic"
        shown = email.utils.parsedate_to_datetime(email.utils.formatdate())  # code of the standard library
        assert shown.timestamp() > now + WEEK / 2
        assert time.time() > now
        assert rayshim.get(rayshim.remote(lambda: time.time_ns()).remote()) < (now + 3600) * 1e9
    finally:
        rayshim.shutdown()
    assert time.monotonic is from_time_imported is REAL[0]


@pytest.mark.parametrize(
    "how, words",
    [
        ({"clock": "wall", "ordering": "timed"}, "must be one of 'physical', 'logical'"),
        ({"clock": "logical", "ordering": "arrival"}, 'has no effect with ordering="arrival"'),
    ],
)
def test_a_clock_that_there_is_not(how, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        rayshim.init(timing=tmp_path / "a" if how["ordering"] == "timed" else None, **how)


def test_a_file_that_was_measured_with_another_clock_is_refused(tmp_path):
    rayshim.init(num_cpus=1, logging_level="ERROR", ordering="timed", timing=tmp_path / "a")
    rayshim.shutdown()
    with pytest.raises(ValueError, match="was measured with clock='physical', and this run has clock='logical'"):
        rayshim.init(ordering="timed", timing=tmp_path / "a", clock="logical")
    assert time.monotonic is REAL[0]


def sleeping_coroutines(ray):
    """Coroutines of one actor sleep and work for a time that differs in each run, while two others call it."""

    @ray.remote
    class Sleeper:
        def __init__(self):
            self.seen, self.beats = [], 0
            self.heart = asyncio.get_running_loop().create_task(self.beat())

        async def beat(self):
            while True:
                await asyncio.sleep(0.004)
                self.beats += 1

        async def nap(self, name, number):
            self.seen.append((name, number, "asleep", self.beats))
            await asyncio.sleep(0.002 * (number % 3))
            time.sleep(some_time() / 5)  # noqa: ASYNC251  its own work
            self.seen.append((name, number, "awake", self.beats))

        async def all(self):
            return self.seen

    @ray.remote
    class Caller:
        def run(self, sleeper, name):
            for number in range(8):
                time.sleep(some_time() / 3)
                ray.get(sleeper.nap.remote(name, number))

    sleeper = Sleeper.remote()
    ray.get([Caller.remote().run.remote(sleeper, name) for name in "ab"])
    return ray.get(sleeper.all.remote())


def timeouts_of_coroutines(ray):
    """An async actor awaits what is there in time or not, and a timeout that is cancelled in time is no event."""

    @ray.remote
    class Asker:
        def __init__(self, slow):
            self.slow, self.log = slow, []

        async def ask(self, number):
            try:
                self.log.append(await asyncio.wait_for(self.slow.work.remote(number), 0.006))
            except asyncio.TimeoutError:
                self.log.append("late")
            return await asyncio.wait_for(asyncio.sleep(0.001, len(self.log)), 30)

        async def all(self):
            return self.log

    asker = Asker.remote(ray.remote(Slow).remote())
    counts = ray.get([asker.ask.remote(number) for number in range(12)])
    return counts, ray.get(asker.all.remote())


@pytest.mark.parametrize("program", [sleeping_coroutines, timeouts_of_coroutines])
def test_timers_of_event_loops_go_off_at_the_same_place_in_each_run(program, how):
    measured = outcome(program, **how)
    for _ in range(2):
        assert outcome(program, **how) == measured


def clock_in_a_thread(ray):
    """A thread of the program reads the clock and makes no calls."""
    shown = []
    thread = threading.Thread(target=lambda: shown.append(time.monotonic()))
    begin = time.monotonic()
    thread.start()
    thread.join()
    log = ray.remote(Log).remote()
    ray.get(log.add.remote(1))
    return begin <= shown[0] <= time.monotonic()


def test_a_thread_may_read_the_logical_clock(how):
    assert outcome(clock_in_a_thread, clock="logical", **how)[0]
    assert outcome(clock_in_a_thread, clock="logical", **how)[0]
