"""Programs on workers: the same trace as inline, on reactor's own processes and memory."""

import functools
import gc
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from reactor import (
    STARTUP,
    Input,
    Output,
    PhysicalAction,
    Program,
    ReactionError,
    Reactor,
    Timer,
    codec,
    msec,
    nsec,
    reaction,
)
from reactor.execution.errors import WorkerError
from reactor.tests.calling import alive
from reactor.tests.lf_mode_programs import PROGRAMS
from reactor.tests.running import lines, program, trace_of

lark = pytest.importorskip("lark")


@pytest.mark.parametrize("placement", ["packed", "isolated"])
@pytest.mark.parametrize(
    "name", ["diamond", "banks_and_multiports", "reset_discards", "nested_modes", "mutable_copies", "actions_pile_up"]
)
def test_trace_is_that_of_inline(name, placement, tmp_path):
    written = PROGRAMS[name]
    ran = program(tmp_path, written.text, placement=placement, workers=2, **written.settings)
    ran.run()
    assert trace_of(ran) == lines(written.trace), written.rule


class Numbers(Reactor):
    out = Output(np.ndarray)
    pid = Output(int)
    tick = Timer(0, nsec(10))

    def __init__(self, size):
        self.size, self.n = size, 0

    @reaction(tick, effects=[out, pid])
    def send(self):
        self.n += 1
        self.out.set(np.full(self.size, self.n))
        self.pid.set(os.getpid())


class Sum(Reactor):
    inp = Input(np.ndarray)
    out = Output(tuple)

    @reaction(inp, effects=out)
    def add(self):
        self.out.set((int(self.inp.value.sum()), self.inp.value.flags.writeable, os.getpid()))


class Report(Reactor):
    """Prints from a worker what it saw: state of a reactor lives where the reactor is."""

    inp = Input(list)

    @reaction(inp)
    def show(self):
        print("saw", self.inp.value)


def test_arrays_travel_as_read_only_views(capfd):
    class Top(Reactor):
        def __init__(self):
            self.numbers, self.sum, self.report = Numbers(100000), Sum(), Report()
            self.connect(self.numbers.out, self.sum.inp)
            self.connect(self.sum.out, self.report.inp)

    program = Program(Top(), fast=True, timeout=10, placement="isolated", trace=True)
    program.run()
    sums = [entry[3]["out"] for entry in program.trace.entries if entry[2].endswith("sum.add")]
    assert [text.split(",")[:2] for text in sums] == [["(100000", " False"], ["(200000", " False"]]
    pids = {text.split(",")[2] for text in sums} | {e[3]["pid"] for e in program.trace.entries if e[2].endswith("send")}
    assert len(pids) == 2


class Fails(Reactor):
    tick = Timer(msec(1))

    @reaction(tick)
    def fail(self):
        raise KeyError("gone")


class Dies(Reactor):
    tick = Timer(msec(1))
    pid = Output(int)

    @reaction(STARTUP, effects=pid)
    def tell(self):
        self.pid.set(os.getpid())

    @reaction(tick)
    def die(self):
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("placement", ["inline", "packed"])
def test_a_reaction_that_raises_ends_the_program(placement):
    with pytest.raises(ReactionError) as caught:
        Program(Fails(), fast=True, placement=placement, workers=1).run()
    error = caught.value
    assert (error.reactor, error.reaction, error.elapsed, error.microstep) == ("Fails", "fail", 1_000_000, 0)
    assert "test_workers.py" in error.site
    assert isinstance(error.__cause__, KeyError)


def test_a_worker_that_is_killed_ends_the_program():
    program = Program(Dies(), fast=True, placement="isolated", trace=True)
    with pytest.raises(WorkerError, match=r"Dies.die .*test_workers.py:\d+\) at tag \(1000000 ns, 0\)"):
        program.run()
    assert not alive(int(program.trace.entries[0][3]["pid"]))


def test_nothing_is_left_behind():
    class Top(Reactor):
        tick = Timer(0, nsec(5))
        out = Output(int)

        @reaction(tick, effects=out)
        def tell(self):
            self.out.set(os.getpid())

    program = Program(Top(), fast=True, timeout=20, placement="packed", workers=2, trace=True)
    program.run()
    (pid,) = {entry[3]["out"] for entry in program.trace.entries}
    assert int(pid) != os.getpid()
    assert not alive(int(pid))


def test_a_program_that_cannot_be_made_in_a_worker_tells_why():
    class Stays(Reactor):
        tick = Timer()

        def __init__(self):
            self.pid = os.getpid()

        def __setstate__(self, state):
            raise OSError("not here")

        @reaction(tick)
        def note(self):
            pass

    with pytest.raises(OSError, match="not here"):
        Program(Stays(), placement="isolated").run()


class TwoArguments(Exception):
    def __init__(self, one, other):
        super().__init__(f"{one} and {other}")


class RaisesIt(Reactor):
    tick = Timer()

    @reaction(tick)
    def fail(self):
        raise TwoArguments(1, 2)


@pytest.mark.parametrize(("made", "kind"), [(Fails, KeyError), (RaisesIt, RuntimeError)])
def test_an_error_in_a_worker_has_its_traceback_as_cause(made, kind):
    with pytest.raises(ReactionError) as caught:
        Program(made(), fast=True, placement="isolated").run()
    error = caught.value.__cause__
    assert type(error) is kind, "an exception that cannot be pickled comes as a RuntimeError"
    assert "test_workers.py" in str(error.__cause__)
    assert "in fail" in str(error.__cause__)
    assert kind is KeyError or str(error) == "TwoArguments: 1 and 2"


@pytest.mark.parametrize("action", ["logical", "physical"])
@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("threading.Lock()", r"<unlocked _thread.lock .* cannot be pickled: cannot pickle '_thread.lock'"),
        ("{'a': [1, multiprocessing.Pipe()[0]]}", r"at value\['a'\]\[1\] cannot be pickled: its file descriptor"),
        ("multiprocessing.Queue()", "should only be shared between processes through inheritance"),
        ("bytearray(1 << 20), threading.Lock()", r"at value\[1\] cannot be pickled"),
    ],
)
def test_a_value_that_cannot_be_sent_is_told_with_its_port(action, value, told, tmp_path):
    """With a physical action the sender is in the process of the program, and the value is sent for its reader."""
    text = f"""preamble {{= import multiprocessing, threading =}}
       reactor A {{ {action} action a output other output out
         reaction(startup) -> a {{= a.schedule(0) =}}
         reaction(a) -> other, out {{= other.set(1); out.set(({value})) =}} }}
       reactor B {{ input other input inp reaction(other) {{= =}} reaction(inp) {{= =}} }}
       main reactor {{ a = new A() b = new B() a.other -> b.other a.out -> b.inp }}"""
    reaction = "a.reaction_2" if action == "logical" else "b.reaction_2"
    with pytest.raises(ReactionError, match=f"{reaction} .*The value of main.a.out cannot be sent.*{told}"):
        program(tmp_path, text, placement="isolated").run()


class Holds(Reactor):
    tick = Timer()

    def __init__(self):
        self.end = multiprocessing.Pipe()[0]

    @reaction(tick)
    def use(self):
        pass


def test_a_connection_of_processes_cannot_be_state_that_is_sent():
    with pytest.raises(TypeError, match="its file descriptor belongs to this process"):
        Program(Holds(), placement="isolated")
    end = Holds().end
    again = codec.loads(*codec.dumps(end))  # elsewhere its class says how it is pickled
    assert again._handle == end._handle
    again._handle = None  # two would close the same descriptor


class Calls(Reactor):
    """Calls `does` at its first tag, and says what that raised or gave."""

    out = Output(object)

    def __init__(self, does):
        self.does = does

    @reaction(STARTUP, effects=out)
    def call(self):
        try:
            self.out.set(self.does())
        except Exception as error:
            self.out.set(f"{type(error).__name__}: {error}")


class CallsHere(Calls):
    other = PhysicalAction()

    @reaction(other)  # keeps it in the process of the program
    def take(self):
        pass


class Doubles(Reactor):
    inp = Input(object)
    out = Output(object)

    @reaction(inp, effects=out)
    def double(self):
        self.out.set((self.inp.value, os.getpid(), self.inp.value))


def said(kind, does, placement):
    """What `does` gives where `kind` calls it, as another reactor on a worker sees it twice."""

    class Top(Reactor):
        def __init__(self):
            self.calls, self.doubles = kind(does), Doubles()
            self.connect(self.calls.out, self.doubles.inp)

    ran = Program(Top(), fast=True, keepalive=False, placement=placement, workers=2, trace=True)
    ran.run()
    [(first, pid, second)] = [eval(e[3]["out"]) for e in ran.trace.entries if e[2].endswith("double")]  # noqa: S307
    assert first == second
    assert pid != os.getpid(), "that is a worker"
    return first


def _run_another(placement):
    return said(CallsHere, os.getpid, placement)


@pytest.mark.parametrize("kind", [CallsHere, Calls], ids=["here", "on a worker"])
@pytest.mark.parametrize("placement", ["packed", "isolated"])
def test_a_process_takes_part_in_one_run_on_workers(kind, placement):
    """The second one is refused, and the first one goes on."""
    told = said(kind, functools.partial(_run_another, placement), placement)
    assert re.match(f'RuntimeError: placement="{placement}": this process takes part .* already.* End that first', told)
    assert said(CallsHere, os.getpid, placement) == os.getpid(), "the next one is not refused"


def _exit_code_of_a_fork():
    child = multiprocessing.get_context("fork").Process(target=gc.collect)
    child.start()
    child.join()
    return child.exitcode


@pytest.mark.parametrize("kind", [CallsHere, Calls], ids=["here", "on a worker"])
@pytest.mark.parametrize("placement", ["packed", "isolated"])
def test_a_reaction_can_fork(kind, placement):
    assert said(kind, _exit_code_of_a_fork, placement) == 0


FORKS = """
    import os, sys
    from reactor import STARTUP, PhysicalAction, Program, Reactor, Timer, msec, reaction

    class Forks(Reactor):
        other = PhysicalAction()

        @reaction(STARTUP)
        def fork(self):
            if (pid := os.fork()) == 0:
                sys.exit(7)
            print("child:", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)

        @reaction(other)
        def take(self):
            pass

    class Ticks(Reactor):
        tick = Timer(0, msec(1))

        @reaction(tick)
        def show(self):
            print("tick", flush=True)

    class Top(Reactor):
        def __init__(self):
            self.forks, self.ticks = Forks(), Ticks()

    Program(Top(), fast=True, keepalive=False, timeout=msec(2), placement="isolated").run()
    print("end", flush=True)
"""


def test_a_forked_child_that_exits_ends_nothing_of_the_program():
    """It goes through `Program.run` on its way out."""
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(FORKS)], capture_output=True, text=True, timeout=60
    )
    assert sorted(ended.stdout.split()) == ["7", "child:", "end", *["tick"] * 3], ended.stderr
    assert (ended.returncode, ended.stderr) == (0, "")
