"""Programs declared in Python: what they can say, and how mistakes are told."""

import threading
import time

import pytest
from reactor import (
    SHUTDOWN,
    STARTUP,
    Action,
    CausalityError,
    GraphError,
    Input,
    Mode,
    Output,
    PhysicalAction,
    Program,
    Reactor,
    Tag,
    Timer,
    msec,
    reaction,
    run,
    sec,
)
from reactor.draw import text
from reactor.tests.running import trace_of


class Pass(Reactor):
    inp = Input(int)
    out = Output(int)

    @reaction(inp, effects=out)
    def hand_on(self):
        self.out.set(self.inp.value + 1)


class Source(Reactor):
    out = Output(int)

    @reaction(STARTUP, effects=out)
    def begin(self):
        self.out.set(0)


def container(connections):
    """A program of a Source and two Passes, connected by `connections(self)`."""

    class Main(Reactor):
        def __init__(self):
            self.source, self.first, self.second = Source(), Pass(), Pass()
            connections(self)

    return Main


def test_trace_of_a_chain():
    def connections(self):
        self.connect(self.source.out, self.first.inp)
        self.connect(self.first.out, self.second.inp, after=msec(3))

    program = run(container(connections), fast=True, trace=True)
    assert trace_of(program) == [
        "(0, 0) source.begin out=0",
        "(0, 0) first.hand_on inp=0 out=1",
        "(3000000, 0) second.hand_on inp=1 out=2",
    ]


def test_a_plan_prints_levels_and_what_waits():
    def connections(self):
        self.connect(self.source.out, self.first.inp)
        self.connect(self.first.out, self.second.inp)

    plan = Program(container(connections)).plan
    assert plan.levels == ((0,), (1,), (2,))
    assert [step.waits_for for step in plan.steps] == [(), (0,), (1,)]
    assert str(plan).splitlines()[2].split() == ["#1", "1", "here", "Main.first.hand_on", "Main.first.inp", "#0"]


def test_a_causality_loop_is_refused_with_its_path():
    def connections(self):
        self.connect(self.first.out, self.second.inp)
        self.connect(self.second.out, self.first.inp)

    with pytest.raises(CausalityError, match="each needs the other's output") as caught:
        Program(container(connections))
    assert set(caught.value.path) == {"Main.first.hand_on", "Main.second.hand_on"}
    assert "test_declaring.py:" in str(caught.value)


@pytest.mark.parametrize(
    ("connections", "message"),
    [
        (lambda self: self.connect(self.first.inp, self.second.inp), "is an input and stands on the wrong side"),
        (lambda self: [self.connect(self.source.out, self.first.inp) for _ in range(2)], "is connected already"),
        (lambda self: self.connect([self.source.out, self.first.out], self.second.inp), "2 sources and 1 targets"),
        (lambda self: self.connect(self.source.out, self.first.inp, after=-1), "a delay is None, 0 or more"),
        (lambda self: self.connect(self.source, self.first.inp), "which is not a port"),
    ],
)
def test_a_wrong_connection_is_told_with_its_line(connections, message):
    with pytest.raises(GraphError, match=message) as caught:
        Program(container(connections))
    assert "test_declaring.py:" in str(caught.value)


def test_a_reaction_that_names_what_is_not_there_is_told_with_its_line():
    class Wrong(Reactor):
        @reaction("child.out")
        def read(self):
            pass

    with pytest.raises(GraphError, match=r"Wrong.read \(.*test_declaring.py:\d+\) names 'child.out'"):
        Program(Wrong)


def test_a_reaction_that_writes_an_input_is_told():
    class Wrong(Reactor):
        inp = Input()

        @reaction(STARTUP, effects=inp)
        def write(self):
            pass

    with pytest.raises(GraphError, match="it can write own outputs"):
        Program(Wrong)


def test_modes_need_one_that_is_initial():
    class Wrong(Reactor):
        one = Mode()

    with pytest.raises(GraphError, match="make exactly one of them initial"):
        Program(Wrong)


def test_a_port_is_not_set_before_the_program_runs():
    with pytest.raises(RuntimeError, match="inside of a reaction"):
        Source().out.set(1)


def test_parameters_change_periods_and_widths():
    class Wide(Reactor):
        out = Output(int, width=1)
        tick = Timer(0, 1)

        def __init__(self, width, period):
            self.out.resize(width)
            self.tick.period = period

        @reaction(tick, effects=out)
        def emit(self):
            self.out.set(7)

    program = run(Wide(3, msec(2)), fast=True, timeout=msec(2), trace=True)
    assert trace_of(program) == [
        "(0, 0) emit out[0]=7 out[1]=7 out[2]=7",
        "(2000000, 0) emit out[0]=7 out[1]=7 out[2]=7",
    ]


def test_inherited_reactions_come_first_and_may_be_overridden():
    order = []

    class Base(Reactor):
        @reaction(STARTUP)
        def one(self):
            order.append("base one")

        @reaction(STARTUP)
        def two(self):
            order.append("base two")

    class Derived(Base):
        @reaction(STARTUP)
        def three(self):
            order.append("three")

        @reaction(STARTUP)
        def one(self):
            order.append("derived one")

    run(Derived, fast=True)
    assert order == ["derived one", "base two", "three"]


def test_a_thread_schedules_a_physical_action():
    seen = []

    class Listens(Reactor):
        heard = PhysicalAction()

        @reaction(STARTUP, effects=heard)
        def begin(self):
            threading.Thread(target=lambda: self.heard.schedule(0, "here")).start()

        @reaction(heard)
        def hear(self):
            seen.append((self.heard.value, self.tag > Tag(self._clock.start, 0)))
            self.request_stop()

        @reaction(SHUTDOWN)
        def end(self):
            seen.append("end")

    run(Listens)
    assert seen == [("here", True), "end"]


def test_physical_time_is_waited_for():
    began = time.monotonic()

    class Waits(Reactor):
        tick = Timer(msec(30))

        @reaction(tick)
        def done(self):
            assert self.physical_elapsed >= self.elapsed == msec(30)

    run(Waits)
    assert time.monotonic() - began >= 0.03


def test_a_missed_deadline_runs_the_handler():
    seen = []

    class Slow(Reactor):
        again = Action()

        @reaction(STARTUP, effects=again)
        def sleep(self):
            time.sleep(0.01)
            self.again.schedule()

        @reaction(again)
        def act(self):
            seen.append("in time")

        @act.late(msec(5))
        def act_late(self):
            seen.append("late")

    run(Slow)
    assert seen == ["late"]


def test_minimum_spacing_holds():
    times = []

    class Spaced(Reactor):
        a = Action(spacing=sec(1))

        @reaction(STARTUP, effects=a)
        def begin(self):
            for k in range(3):
                self.a.schedule(k)

        @reaction(a)
        def note(self):
            times.append(self.elapsed)

    run(Spaced, fast=True)
    assert times == [0, sec(1), sec(2)]


def test_a_program_is_drawn():
    def connections(self):
        self.connect(self.source.out, self.first.inp)
        self.connect(self.first.out, self.second.inp, after=msec(3))

    graph = Program(container(connections)).graph
    picture = text.render(graph)
    assert [(c.source, c.target, c.delay) for c in graph.connections] == [
        ("Main.source.out", "Main.first.inp", None),
        ("Main.first.out", "Main.second.inp", msec(3)),
    ]
    assert "Main.source.begin" in picture
    assert "Main.second.hand_on" in picture
