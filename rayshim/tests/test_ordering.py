"""What cannot be ordered, and what can never end: relaxed with a warning, or an error that says who waits for whom."""

import math
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import rayshim as ray
from compat_tests.processes import wait_until


@pytest.fixture(params=["isolated", "packed"])
def placement(request):
    return request.param


@pytest.fixture(params=["logical", "strict"])
def ordering(request, placement):
    ray.init(num_cpus=4, ordering=request.param, placement=placement, patience=math.inf, logging_level="ERROR")
    yield request.param
    ray.shutdown()


@pytest.fixture(params=["logical", "arrival"])
def session(request, placement):
    ray.init(num_cpus=4, ordering=request.param, placement=placement, logging_level="ERROR")
    yield ray
    ray.shutdown()


def unorderable(module=__name__):
    """A task holds a handle of `counter`, whose class is of `module`, and waits for a signal that comes after a call of the counter."""

    @ray.remote
    class Signal:
        def __init__(self):
            import asyncio

            self.event = asyncio.Event()

        async def wait(self):
            await self.event.wait()

        async def send(self):
            self.event.set()

    class Counter:
        def add(self):
            return 1

    Counter.__module__ = module

    @ray.remote
    def holder(signal, counter):
        ray.get(signal.wait.remote())
        return "ended"

    signal, counter = Signal.remote(), ray.remote(Counter).remote()
    held = holder.remote(signal, counter)
    try:
        return ray.get(counter.add.remote())
    finally:
        ray.get(signal.send.remote())
        assert ray.get(held) == "ended"


def test_what_cannot_be_ordered_is_ordered_by_arrival_or_refused(ordering):
    if ordering == "strict":
        with pytest.raises(
            ray.exceptions.OrderingError, match=r"Counter\.add cannot run in serial order.*holder.*may call Counter"
        ):
            unorderable()
    else:
        assert unorderable() == 1
        assert ray.report().to_dict()["physical_answers"] == 1


def test_the_warning_names_who_was_held_back_and_for_whom():
    program = "import rayshim as ray\nfrom rayshim.tests.test_ordering import unorderable\nray.init(num_cpus=4)\nunorderable()\n"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=200)
    assert shown.returncode == 0, shown.stderr
    assert (
        "Counter.add called by the driver now runs in arrival order, because earlier calls (holder) still run"
        in shown.stderr
    )
    assert "calls in arrival order in this run: Counter.add called by the driver while holder ran\n" in shown.stderr


def test_the_user_is_not_warned_about_internals_of_rays_libraries():
    program = (
        "import rayshim as ray\nfrom rayshim.tests.test_ordering import unorderable\nray.init(num_cpus=4)\n"
        "unorderable('ray.data._internal.stats')\nprint(ray.report().to_dict()['physical_answers'])\n"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=200)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout == "1\n"
    assert "arrival" not in shown.stderr


def test_a_cycle_of_waits_is_an_error_that_names_both_and_where(session):
    @ray.remote
    class Outer:
        def meet(self, inner):
            self.inner = inner

        def go(self):
            return ray.get(self.inner.back.remote())

        def answer(self):
            return 1

    @ray.remote
    class Inner:
        def meet(self, outer):
            self.outer = outer

        def back(self):
            return ray.get(self.outer.answer.remote())

    outer, inner = Outer.remote(), Inner.remote()
    ray.get([outer.meet.remote(inner), inner.meet.remote(outer)])
    with pytest.raises(ray.exceptions.DeadlockError) as caught:
        ray.get(outer.go.remote())
    told = str(caught.value)
    assert "Outer (actor" in told and "Inner (actor" in told
    assert f"in go at {__file__}:" in told and f"in back at {__file__}:" in told


def test_a_long_cycle_is_found_beside_those_that_wait_for_it(session):
    @ray.remote
    class Ring:
        def next_is(self, other):
            self.other = other

        def go(self, left):
            return ray.get(self.other.go.remote(left - 1)) if left else "through"

        def answer(self):
            return 1

    ring = [Ring.remote() for _ in range(5)]
    ray.get([a.next_is.remote(b) for a, b in zip(ring, ring[1:] + ring[:1])])
    assert ray.get(ring[0].go.remote(4)) == "through"
    around = ring[2].go.remote(5)
    beside = ring[4].answer.remote()  # behind a call that is in the cycle
    with pytest.raises(ray.exceptions.DeadlockError) as caught:
        ray.get(around)
    assert str(caught.value).count("Ring (actor") == 5
    assert ray.get(beside) == 1


def test_an_actor_that_waits_for_itself_is_told(session):
    @ray.remote
    class Alone:
        def go(self):
            return ray.get(ray.get_runtime_context().current_actor.answer.remote())

        def answer(self):
            return 1

    with pytest.raises(ray.exceptions.DeadlockError, match="Alone .* for a result of itself"):
        ray.get(Alone.remote().go.remote())


@ray.remote
def slowly(value, seconds=0.3):
    time.sleep(seconds)
    return value


def test_wait_gives_the_first_of_the_list_though_a_later_one_is_done_before(ordering):
    refs = [slowly.remote(1), ray.put(2)]
    assert ray.wait(refs) == (refs[:1], refs[1:])


def test_wait_gives_what_is_done_once_patience_has_ended_and_at_once_from_then_on():
    ray.init(num_cpus=4, patience=0.2, logging_level="ERROR")
    try:
        for _ in range(2):
            refs = [slowly.remote(1, 1000), ray.put(2)]
            ready, left = ray.wait(refs)
            assert (ready, left) == (refs[1:], refs[:1])
        assert ray.report().to_dict()["physical_answers"] == 2
    finally:
        ray.shutdown()


def test_by_arrival_wait_gives_what_is_done():
    ray.init(num_cpus=4, ordering="arrival", logging_level="ERROR")
    try:
        refs = [slowly.remote(1, 1), ray.put(2)]
        assert ray.wait(refs) == (refs[1:], refs[:1])
    finally:
        ray.shutdown()


@pytest.mark.parametrize("wrong", [{"ordering": "lexical"}, {"patience": -1}, {"patience": "long"}])
def test_wrong_orders_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ray.init(**wrong)


def test_usr1_shows_who_waits_for_whom_and_where(tmp_path):
    program = textwrap.dedent(
        """
        import os, time
        import rayshim as ray
        ray.init(num_cpus=4)
        @ray.remote
        class Slow:
            def sleep(self):
                open("sleeps", "w").close()
                while not os.path.exists("shown"):
                    time.sleep(0.01)
        @ray.remote
        def task(refs):
            return ray.get(refs[0])
        ray.get(task.remote([Slow.remote().sleep.remote()]))
        """
    )
    wanted = ("the driver", "for a task (pid", "for Slow (actor", "in sleep")  # the last is of the stack
    with (tmp_path / "shown_so_far").open("w") as errors:
        process = subprocess.Popen([sys.executable, "-c", program], stderr=errors, cwd=tmp_path)
    wait_until((tmp_path / "sleeps").exists, 50)
    while process.poll() is None and not all(text in (tmp_path / "shown_so_far").read_text() for text in wanted):
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.1)  # the task may not wait yet
    (tmp_path / "shown").touch()
    assert process.wait(50) == 0, (tmp_path / "shown_so_far").read_text()


def test_what_one_process_sends_out_of_turn_is_put_in_turn():
    """One worker runs both tasks, the later one first, because the earlier one's argument is not there yet."""
    ray.init(num_cpus=1, patience=math.inf, logging_level="ERROR")
    try:

        @ray.remote
        class Log:
            def __init__(self):
                self.seen = []

            def add(self, who):
                self.seen.append(who)

            def all(self):
                return self.seen

        @ray.remote
        def send(log, who, _):
            for _ in range(50):
                log.add.remote(who)

        log = Log.remote()
        late = slowly.options(num_cpus=0).remote(0)
        ray.get([send.remote(log, "first", late), send.remote(log, "second", 0)])
        assert ray.get(log.all.remote()) == ["first"] * 50 + ["second"] * 50
    finally:
        ray.shutdown()


def test_a_constructor_does_not_wait_for_those_of_actors_that_get_its_handle_later(ordering, tmp_path):
    @ray.remote
    class Peer:
        def __init__(self, number):
            (tmp_path / str(number)).touch()
            while len(list(tmp_path.iterdir())) < 2:
                time.sleep(0.01)

        def meet(self, peers):
            self.peers = peers
            return len(peers)

    peers = [Peer.remote(number) for number in range(2)]
    assert ray.get([peer.meet.remote(peers) for peer in peers], timeout=30) == [2, 2]


def test_many_open_calls_of_an_actor_that_could_call_others_keep_their_order(ordering):
    @ray.remote
    class Collector:
        def __init__(self, other):
            self.other, self.seen = other, []

        def add(self, number):
            self.seen.append(number)

        def all(self):
            return self.seen

    @ray.remote
    class Sender:
        def __init__(self, collector):
            self.collector = collector

        def send(self, numbers):
            for number in numbers:
                self.collector.add.remote(number)

    collector = Collector.remote(Collector.remote(None))
    senders = [Sender.remote(collector) for _ in range(2)]
    for number, sender in enumerate(senders):
        sender.send.remote(range(number * 10_000, (number + 1) * 10_000))
    assert ray.get(collector.all.remote()) == list(range(20_000))


def test_who_asks_again_and_again_does_not_hold_others_for_ever():
    ray.init(num_cpus=4, patience=0.5, logging_level="ERROR")
    try:

        @ray.remote
        class Box:
            def __init__(self):
                self.full = False

            def is_full(self):
                return self.full

            def fill(self):
                self.full = True

        @ray.remote
        def asks(box):
            while not ray.get(box.is_full.remote()):
                pass
            return "full"

        box = Box.remote()
        asked = asks.remote(box)
        box.fill.remote()
        assert ray.get(asked, timeout=200) == "full"
    finally:
        ray.shutdown()
