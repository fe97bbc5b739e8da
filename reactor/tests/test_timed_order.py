"""Timed order: one run, however the processes of it are scheduled; and the run that was measured, again."""

import hashlib
import random
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reactor.tests.timed_order import TASKS, TICK, TIMED_OUT, Call, Create, Get, Put, Ref, Run, Sleep, Wait


def number(*parts):
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=6).digest(), "big")


@dataclass(frozen=True)
class Program:
    """A random program. What a strand does next depends on the values that it got, so a run that differs once differs in all that follows.

    A strand blocks only on calls of actors behind its own one, and on tasks, so strands never wait for each other.
    """

    seed: int
    kinds: tuple[str, ...] = ("call", "task", "put", "get", "wait", "sleep", "create", "poll")
    drivers: int = 3
    actors: int = 4
    cpus: int = 2
    operations: int = 12
    depth: int = 3
    spread: int = 4

    def run(self, kind=Run, **options):
        drivers = [lambda n=n: self.driver(n) for n in range(self.drivers)]
        states = {place: self.seed + place for place in range(self.actors)}
        options.setdefault("duration", self.duration)
        return kind(drivers, {"method": self.method}, cpus=self.cpus, states=states, **options)

    def driver(self, n):
        return shown((yield from self.body(-1, number(self.seed, n), self.depth, ())))

    def duration(self, tag, stretch, _operation):
        x = number(self.seed, "duration", tag, stretch)
        return TICK + x % self.spread * (x // 7 % 3)

    def method(self, state, place, x, level, *arguments):
        value = yield from self.body(place, number(state, x, shown(arguments)), level, arguments)
        return number(state, shown(value)), value

    def body(self, place, x, level, arguments):
        refs = [found for argument in arguments for found in (argument if isinstance(argument, list) else ())]
        actors = [(name, name) for name in range(self.actors)]
        last = None
        for i in range(1 + x % self.operations):
            y = number(x, i, shown(last))
            kind, z = self.kinds[y % len(self.kinds)], y // 64
            open_to_it = [ref for ref, behind in refs if behind > place]
            if kind == "create":
                actors.append(((yield Create(z)), z % self.actors))
            elif kind == "put":
                refs.append(((yield Put(z)), self.actors))
            elif kind == "sleep":
                yield Sleep(z % 9)
            elif kind in ("call", "task"):
                if level:
                    server, behind = (TASKS, place) if kind == "task" else actors[z % len(actors)]
                    waited_for = [ref for ref, its in refs if its > behind][: z // 32 % 2]
                    inside = [list(found) and [found] for found in refs[: z // 16 % 2]]
                    given = (behind, z, level - 1, *waited_for, *inside)
                    refs.append(((yield Call(server, "method", given)), self.actors if kind == "task" else behind))
            elif open_to_it and kind == "wait":
                timeout = z % 12 if z // 32 % 2 else None
                last = yield Wait(open_to_it, 1 + z % len(open_to_it), timeout)
            elif open_to_it:
                last = yield Get(open_to_it[z % len(open_to_it)], z % 6 if kind == "poll" else None)
                refs += last if isinstance(last, list) else ()
        return refs[-1:] if x % 4 == 0 else number(x, shown(last))


def shown(value):
    """The value with tags in place of refs."""
    if isinstance(value, Ref):
        return value.tag
    return [shown(part) for part in value] if isinstance(value, (list, tuple)) else value


def run_of(*drivers, methods=None, cpus=1, states=None):
    """Of generator functions, in time order. Each stretch takes one tick; methods are {name: ticks of a call of it}, and return their state."""

    def method(ticks):
        def code(state, *_arguments):
            yield Sleep(ticks - 2 * TICK)
            return state, state

        return code

    found = {name: method(ticks) for name, ticks in (methods or {}).items()}
    return Run(drivers, found, lambda *_: TICK, cpus=cpus, states=states).in_time_order()


def test_messages_of_one_tick_are_served_by_their_tags():
    def driver():
        return (yield Get((yield Call("a", "f"))))

    run = run_of(driver, driver, methods={"f": 10}, states={"a": 7})
    assert run.servers["a"].trace == [((0, 1), 1, 7), ((1, 1), 11, 7)]
    assert run.results == {0: 7, 1: 7}


def test_a_message_does_not_overtake_one_of_its_caller_that_waits_for_an_argument():
    def driver():
        slow = yield Call("b", "slow")
        yield Call("a", "f", (slow,))
        yield Call("a", "f")

    run = run_of(driver, methods={"f": 5, "slow": 50}, states={"a": 0, "b": 0})
    assert run.servers["a"].trace == [((0, 2), 51, 0), ((0, 3), 56, 0)]


def test_wait_gives_the_first_of_the_list_that_are_done_when_so_many_are():
    def driver():
        slow, quick = (yield Call("a", "slow")), (yield Call("b", "quick"))
        both = yield Wait([slow, quick], 1)
        none = yield Wait([slow], 1, timeout=5)
        yield Sleep(100)
        return both == [quick], none, (yield Wait([slow, quick], 1)) == [slow]

    run = run_of(driver, methods={"slow": 50, "quick": 10}, states={"a": 0, "b": 0})
    assert run.results == {0: (True, [], True)}


def test_get_with_a_timeout_ends_at_its_own_time():
    def driver():
        ref = yield Call("a", "f")
        given_up = yield Get(ref, timeout=10)
        yield Call("b", "f")
        return given_up, (yield Get(ref, timeout=1000))

    run = run_of(driver, methods={"f": 50}, states={"a": 1, "b": 2})
    assert run.results == {0: (TIMED_OUT, 1)}
    assert run.servers["b"].trace == [((0, 2), 1 + TICK + 10 + TICK, 2)]


def test_a_task_that_blocks_lends_its_place_and_goes_on_beside_the_others():
    def outer(_state):
        yield Get((yield Call(TASKS, "inner")))
        yield Sleep(10)
        return None, "outer"

    def inner(_state):
        yield Sleep(20)
        return None, "inner"

    def driver():
        one, other = (yield Call(TASKS, "outer")), (yield Call(TASKS, "inner"))
        return (yield Get(one)), (yield Get(other))

    run = Run([driver], {"outer": outer, "inner": inner}, lambda *_: TICK, cpus=1).in_time_order()
    assert run.results == {0: ("outer", "inner")}
    assert [(tag, start) for tag, start, _ in run.servers[TASKS].trace] == [((0, 1), 1), ((0, 1, 1), 3), ((0, 2), 25)]


def test_strands_that_wait_for_each_other_end_the_run():
    def driver():
        yield Get(Ref((9,)))

    with pytest.raises(RuntimeError, match="wait for each other"):
        run_of(driver)


programs = st.builds(
    Program,
    seed=st.integers(0, 10**6),
    drivers=st.integers(1, 4),
    actors=st.integers(1, 5),
    cpus=st.integers(1, 3),
    operations=st.integers(1, 8),
    depth=st.integers(1, 4),
    spread=st.integers(1, 8),
)


@settings(max_examples=150, deadline=None)
@given(programs, st.integers(0, 2**32))
def test_every_schedule_of_the_processes_gives_the_same_run(program, chance):
    reference = program.run().in_time_order().outcome()
    for k in range(3):
        assert program.run().as_allowed(random.Random(chance + k)).outcome() == reference


class EqualPasses(Run):
    def holds(self, bound, threshold):
        return bound < threshold


class PoolByReadyKey(Run):
    def threshold(self, server):
        return server.next_start().key


class BlockedAreNoSources(Run):
    def sources(self):
        return ((what, bound) for what, bound in super().sources() if what not in self.blocked)


class StartsAreNoSources(Run):
    def sources(self):
        return ((what, bound) for what, bound in super().sources() if what not in self.servers.values())


class WaitsGoByWhatIsThere(Run):
    def is_final(self, strand):
        return True


@pytest.mark.parametrize(
    "simpler", [EqualPasses, PoolByReadyKey, BlockedAreNoSources, StartsAreNoSources, WaitsGoByWhatIsThere]
)
def test_a_simpler_rule_gives_other_runs(simpler):
    for seed in range(300):
        program = Program(seed)
        reference = program.run().in_time_order().outcome()
        if program.run(simpler).as_allowed(random.Random(seed)).outcome() != reference:
            return
    pytest.fail("this rule would do")


class ByArrival(Run):
    """A measured run in the order of arrival: on a machine where a stretch takes any time, and a call to begin and a strand to go on take some."""

    def __init__(self, *parts, chance, **options):
        self.chance, self.durations, self.latencies = chance, {}, {}
        options["duration"] = self._measured
        super().__init__(*parts, latency=lambda *place: self.latencies.get(place, 0), **options)

    def by_arrival(self):
        planned = {}  # what may happen -> (from when, when it does)
        while events := dict(self.events()):
            planned = {what: self._plan(what, at, planned.get(what)) for what, at in events.items()}
            what = min(planned, key=lambda each: planned[each][1])
            _, now = planned.pop(what)
            if what in self.running:
                self.operate(what)
            elif what in self.blocked:
                self.latencies[what.tag, what.stretches] = now - events[what]
                self.resume(what)
            else:
                self.start(what)
                begun, late = self.running[-1], now - events[what]
                begun.at += late
                self.durations[begun.tag, 0] += late
        return self._ended()

    def _plan(self, what, at, before):
        if before is not None and (before[0] == at or what in self.servers.values()):
            return before
        return at, at if what in self.running else at + self.chance.randrange(1, 50_000)

    def _measured(self, tag, stretch, _operation):
        ticks = self.chance.randrange(1, 10**6) * self.chance.choice((1, 1, 1, 20))
        self.durations[tag, stretch] = ticks
        return ticks


def order(run):
    """What a program can see: results, and the calls of each server in their order, without their times."""
    results, traces = run.outcome()
    return results, {name: [(tag, state) for tag, _, state in trace] for name, trace in traces.items()}


@settings(max_examples=100, deadline=None)
@given(programs, st.integers(0, 2**32))
def test_with_the_times_of_a_measured_run_every_run_is_that_run(program, chance):
    measured = program.run(ByArrival, chance=random.Random(chance)).by_arrival()
    times = {
        "duration": lambda tag, stretch, _operation: measured.durations[tag, stretch],
        "latency": lambda *place: measured.latencies[place],
    }
    assert order(program.run(**times).in_time_order()) == order(measured)
    assert order(program.run(**times).as_allowed(random.Random(chance))) == order(measured)
