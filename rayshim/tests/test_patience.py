"""The budget of order: pairs of callers and holders, and places of `wait`, that change to arrival order, and those that do not."""

import math
import os
import re
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import rayshim as ray
from rayshim.api import arguments

pytestmark = pytest.mark.usefixtures("zygote_has_pytest")


@pytest.fixture(params=["isolated", "packed"])
def placement(request):
    return request.param


@pytest.fixture
def start(placement):
    def init(**way):
        ray.init(num_cpus=8, placement=placement, logging_level="ERROR", **way)

    yield init
    ray.shutdown()


@ray.remote
class Store:
    def __init__(self):
        self.n, self.asked, self.seen = 0, 0, []

    def get(self):
        self.asked += 1
        return self.n

    def is_over(self):
        return self.n > 0

    def was_asked(self):
        return self.asked

    def set(self, n):
        self.n = n

    def note(self, who):
        self.seen.append(who)

    def noted(self):
        return self.seen

    def serve(self, seconds):
        time.sleep(seconds)


@ray.remote
class Loop:
    def until(self, store, n):
        """Asks until the store has `n`; returns how often it did."""
        asked = 0
        while ray.get(store.get.remote()) < n:
            asked += 1
        return asked

    def flood(self, store, seconds):
        """Keeps ten calls of the store at work until it is over; returns how many have been served."""
        refs, served = [store.serve.remote(seconds) for _ in range(10)], 0
        while not ray.get(store.is_over.remote()):
            ray.get(refs.pop(0))
            refs.append(store.serve.remote(seconds))
            served += 1
        return served

    def note(self, store, who, times):
        for i in range(times):
            store.note.remote((who, i))
            time.sleep(0.001)


def arrivals():
    return [entry["what"] for entry in ray.report().to_dict()["arrivals"]]


def test_the_driver_is_answered_while_a_loop_that_calls_the_same_actor_goes_on(start):
    start()
    store, loop = Store.remote(), Loop.remote()
    asked = loop.until.remote(store, 1)
    while ray.get(store.was_asked.remote()) < 20:
        pass
    assert not ray.wait([asked], timeout=0)[0]
    ray.get(store.set.remote(1))
    assert ray.get(asked) > 0
    # The driver waits for the loop at no method from then on, and each is named.
    assert arrivals() == ["Store.was_asked, Store.set called by the driver while Loop.until ran"]


def test_a_call_that_nobody_waits_for_ends_the_loop_that_waits_for_its_effect(start):
    start()
    store, loops = Store.remote(), [Loop.remote() for _ in range(3)]
    asked = [loop.until.remote(store, 1) for loop in loops]
    store.set.remote(1)
    assert all(isinstance(n, int) for n in ray.get(asked, timeout=200))


def test_a_later_caller_has_its_turn_beside_an_earlier_one_that_never_lets_the_actor_rest(start):
    start()
    store, first, second = Store.remote(), Loop.remote(), Loop.remote()
    flood = first.flood.remote(store, 0.002)
    ray.get(store.note.remote(0))
    asked = second.until.remote(store, 1)
    while ray.get(store.was_asked.remote()) < 30:
        pass
    ray.get(store.set.remote(1))
    assert ray.get(flood) > 0 and ray.get(asked) > 0


def test_within_the_budget_the_order_is_the_serial_run_s(start):
    start(patience=math.inf)
    store, loops = Store.remote(), [Loop.remote() for _ in range(3)]
    ended = [loop.note.remote(store, who, 100) for who, loop in enumerate(loops)]
    seen = ray.get(store.noted.remote())
    assert seen == [(who, i) for who in range(3) for i in range(100)]
    ray.get(ended)
    assert arrivals() == []


def test_each_caller_keeps_its_own_order_when_it_is_served_by_arrival(start):
    start(patience=0)
    store, loops = Store.remote(), [Loop.remote() for _ in range(3)]
    ray.get([loop.note.remote(store, who, 100) for who, loop in enumerate(loops)])
    seen = ray.get(store.noted.remote())
    assert sorted(seen) == [(who, i) for who in range(3) for i in range(100)]
    for who in range(3):
        assert [i for w, i in seen if w == who] == list(range(100))


def test_a_pair_that_has_given_way_does_not_take_others_with_it(start):
    start(patience=2)
    store, loop, other, beside = Store.remote(), Loop.remote(), Store.remote(), Loop.remote()
    ray.get(beside.note.remote(other, 0, 0))
    asked = loop.until.remote(store, 1)
    ray.get(store.get.remote())  # the driver is served by arrival beside Loop.until from now on
    notes = beside.note.remote(other, 0, 30)
    assert ray.get(other.noted.remote()) == [(0, i) for i in range(30)]
    ray.get([store.set.remote(1), asked, notes])


@ray.remote
class Worker:
    def work(self, seconds):
        time.sleep(seconds)
        return seconds


def test_wait_does_not_stay_with_the_slow_one(start):
    start()
    workers = [Worker.remote() for _ in range(4)]
    seconds = [1.0, 0.001, 0.001, 0.001]
    ray.get([w.work.remote(0) for w in workers])
    at_work = {w.work.remote(s): i for i, (w, s) in enumerate(zip(workers, seconds))}
    done = [0] * 4
    while done[0] < 1:
        (ref,), _ = ray.wait(list(at_work))
        i = at_work.pop(ref)
        done[i] += 1
        at_work[workers[i].work.remote(seconds[i])] = i
    assert sum(done) > 40  # one each in the order of the list
    (site,) = arrivals()
    assert site.startswith(f"wait() at {__file__}:")


def test_wait_is_ordered_without_limit_where_patience_is_infinite(start):
    start(patience=math.inf)
    workers = [Worker.remote() for _ in range(4)]
    for _ in range(3):
        refs = [w.work.remote(s) for w, s in zip(workers, (0.3, 0, 0, 0))]
        assert ray.wait(refs, num_returns=2)[0] == refs[:2]
    assert arrivals() == []


@pytest.mark.parametrize(
    ("patience", "seconds", "share"),
    [
        (None, 0.1, 0.1),
        (0, 0, 0),
        (0.5, 0.5, 0),
        (3, 3, 0),
        ("25%", 0.1, 0.25),
        (" 0 % ", 0.1, 0),
        ("12.5%", 0.1, 0.125),
        (math.inf, math.inf, 0),
        ("0.5", 0.5, 0),
    ],
)
def test_budgets_that_are_understood(monkeypatch, patience, seconds, share):
    monkeypatch.delenv("RAYSHIM_PATIENCE", raising=False)
    assert arguments.budget(patience) == (seconds, share)
    ray.init(num_cpus=1, placement="inline", patience=patience)
    ray.shutdown()


@pytest.mark.parametrize("patience", [-1, "long", "-5%", "%", math.nan, True, [1], (1, 2)])
def test_budgets_that_are_refused(patience):
    with pytest.raises(ValueError, match="patience=.*a number of seconds"):
        ray.init(patience=patience)
    assert not ray.is_initialized()


def test_the_budget_comes_from_the_environment_too(monkeypatch):
    monkeypatch.setenv("RAYSHIM_PATIENCE", "soon")
    with pytest.raises(ValueError, match="RAYSHIM_PATIENCE"):
        ray.init()


PROGRAM = textwrap.dedent(
    """
    import sys
    import rayshim as ray
    from rayshim.tests.test_patience import Loop, Store
    ray.init(num_cpus=8, logging_level="ERROR", **eval(sys.argv[1]))
    store, loops = Store.remote(), [Loop.remote() for _ in range(2)]
    asked = [loop.until.remote(store, 5) for loop in loops]
    seen = []
    for n in range(1, 6):
        seen.append(ray.get(store.get.remote()))
        ray.get(store.set.remote(n))
    print(seen, ray.get(asked))
    """
)


def run(way):
    shown = subprocess.run([sys.executable, "-c", PROGRAM, repr(way)], capture_output=True, text=True, timeout=200)
    assert shown.returncode == 0, shown.stderr
    return shown


def test_a_recorded_run_with_arrivals_is_repeated_exactly(tmp_path):
    recorded = run({"record": str(tmp_path / "run")})
    assert run({"replay": str(tmp_path / "run")}).stdout == recorded.stdout


def test_each_is_said_once_while_it_happens_and_once_at_the_end():
    lines = run({}).stderr.splitlines()
    said = [
        line
        for line in lines
        if "Store.get called by the driver now runs in arrival order, because earlier calls" in line
    ]
    assert len(said) == 1 and "(Loop.until)" in said[0]
    assert sum("`rayshim run --ordering timed --timing FILE` gives one result" in line for line in lines) == 1
    (end,) = [line for line in lines if line.startswith("rayshim: calls in arrival order in this run: ")]
    assert end.count("called by the driver while Loop.until ran") == 1 and "serial order" not in end


@ray.remote(max_restarts=-1, max_task_retries=-1)
class Restarted:
    def pid(self):
        return os.getpid()


def test_while_an_actor_is_restarted_order_is_not_given_up():
    """Between the death of its process and the start of the next one, all other processes sleep, but something will move."""
    ray.init(num_cpus=4, patience=math.inf, logging_level="ERROR", log_to_driver=False)
    try:
        actors = [Restarted.remote() for _ in range(3)]
        for k in range(60):
            pids = ray.get([actor.pid.remote() for actor in actors])
            os.kill(pids[k % 3], signal.SIGKILL)
            calls = [actor.pid.remote() for actor in actors]
            assert ray.wait(calls, num_returns=1)[0] == calls[:1]
        assert not ray.report().arrivals
    finally:
        ray.shutdown()


@ray.remote
class Buffer:
    def __init__(self):
        self.n = 0

    def add(self):
        self.n += 1

    def sample(self):
        return self.n

    def size(self):
        return self.n


@ray.remote
def fill(store, buffer):
    while not ray.get(store.is_over.remote()):
        buffer.add.remote()
        time.sleep(0.001)


@ray.remote
def learn(store, buffer, first):
    if first:
        ray.get(store.get.remote())
    ray.get(buffer.sample.remote())
    ray.get(buffer.size.remote())
    store.set.remote(1)


@pytest.mark.parametrize("first", [True, False])
def test_every_method_that_does_not_wait_for_a_holder_any_more_is_named_with_the_pair(start, first):
    """What is given up at the store is given up at the buffer, too, where nobody has waited."""
    start()
    store, buffer = Store.remote(), Buffer.remote()
    filled = fill.remote(store, buffer)
    while not ray.get(buffer.size.remote()):
        pass
    ray.get([learn.remote(store, buffer, first), filled])
    (pair,) = [entry for entry in ray.report().arrivals if entry["by"] == "learn"]
    assert pair["while"] == "fill"
    assert set(pair["calls"]) == {"Buffer.sample", "Buffer.size", "Store.set"} | ({"Store.get"} if first else set())
    assert all(called in str(ray.report()) for called in pair["calls"])


LONG = textwrap.dedent(
    """
    import math, sys
    import rayshim as ray
    from rayshim.tests.test_patience import Loop, Store, Worker
    ray.init(num_cpus=8, logging_level="ERROR", ordering=sys.argv[2], patience=math.inf)
    store, loop, worker = Store.remote(), Loop.remote(), Worker.remote()
    asked = loop.until.remote(store, 1)
    if sys.argv[1] == "call":
        ray.get(store.set.remote(1))
    else:
        ray.wait([asked, worker.work.remote(0)])
    """
)


@pytest.mark.slow
@pytest.mark.parametrize("ordering", ["logical", "strict"])
@pytest.mark.parametrize(
    ("what", "line"),
    [
        (
            "call",
            r"Store\.set called by the driver has waited 10 s for earlier calls \(Loop\.until\).* the program never ends.*patience=",
        ),
        (
            "wait",
            r"wait\(\) at <string>:\d+ has waited 10 s for the first 1 of its 2 refs.* this wait never returns.*patience=",
        ),
    ],
)
def test_without_a_limit_a_line_says_who_waits_and_that_it_may_never_end(what, ordering, line):
    with subprocess.Popen(
        [sys.executable, "-c", LONG, what, ordering], stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as program:
        try:
            assert re.search(line, program.stderr.readline())
        finally:
            os.killpg(program.pid, signal.SIGKILL)
