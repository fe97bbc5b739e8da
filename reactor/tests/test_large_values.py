"""Large values between reactors: each reader has what was sent, whatever the sender does later, and nothing is copied without need."""

import os
import signal
from dataclasses import dataclass

import numpy as np
import pytest
from reactor import STARTUP, Action, Input, Output, PhysicalAction, Program, Reactor, Timer, nsec, reaction
from reactor.execution.errors import WorkerError
from reactor.execution.stored import is_large

SIZE = 100_000  # numbers, each of 8 bytes
PLACEMENTS = pytest.mark.parametrize("placement", ["inline", "packed", "isolated"])


def address_in_the_heap(array):
    """Where the data lie in the shared heap, the same in each process; None: not there."""
    at = array.__array_interface__["data"][0]
    with open("/proc/self/maps") as maps:
        for line in maps:
            place, _, offset, *_, name = line.split(maxsplit=5)
            begin, end = (int(x, 16) for x in place.split("-"))
            if begin <= at < end:
                return int(offset, 16) + at - begin if "memfd:reactor" in name else None
    return None


def texts(top, port, placement, **settings):
    """What was set to the ports of this name, in their order."""
    program = Program(top(), fast=True, placement=placement, workers=2, trace=True, **{"timeout": 30, **settings})
    program.run()
    return [value for _, _, path, seen in program.trace.entries for name, value in seen.items() if name == port]


class Sender(Reactor):
    """Sends an array that it keeps, and writes to it later."""

    out = Output(np.ndarray)
    tick = Timer(0, nsec(10))

    def __init__(self):
        self.kept = np.zeros(SIZE)
        self.n = 0

    @reaction(tick, effects=out)
    def send(self):
        self.n += 1
        if self.n % 2:
            self.kept[:] = self.n
            self.out.set(self.kept)
        else:
            self.kept[:] = -1


class Keeper(Reactor):
    """Keeps all that it gets."""

    inp = Input(np.ndarray)
    tick = Timer(nsec(5), nsec(10))
    sums = Output(list)

    def __init__(self):
        self.all = []

    @reaction(inp)
    def keep(self):
        self.all.append(self.inp.value)

    @reaction(tick, effects=sums)
    def tell(self):
        self.sums.set([int(array[0]) for array in self.all])


@pytest.mark.parametrize("placement", ["packed", "isolated"])
def test_a_receiver_keeps_what_was_sent_though_the_sender_writes_to_it(placement):
    class Top(Reactor):
        def __init__(self):
            self.sender, self.keeper, self.other = Sender(), Keeper(), Keeper()
            self.connect(self.sender.out, self.keeper.inp)
            self.connect(self.sender.out, self.other.inp, after=nsec(12))  # sent when the sender has written to it

    found = texts(Top, "sums", placement)
    assert sorted(found) == sorted(["[1]", "[]", "[1]", "[1]", "[1, 3]", "[1]"])


class Fresh(Reactor):
    """Sends arrays that it does not keep, and tells where they were."""

    out = Output(np.ndarray)
    where = Output(int)
    tick = Timer(0, nsec(10))

    def __init__(self):
        self.n = 0

    @reaction(tick, effects=[out, where])
    def send(self):
        self.n += 1
        array = np.full(SIZE, self.n)
        self.where.set(address_in_the_heap(array))
        self.out.set(array)


class Where(Reactor):
    inp = Input(np.ndarray)
    seen = Output(tuple)

    @reaction(inp, effects=seen)
    def look(self):
        array = self.inp.value
        self.seen.set((address_in_the_heap(array), int(array.sum()), array.flags.writeable))


class Relay(Reactor):
    inp = Input(np.ndarray)
    out = Output(np.ndarray)

    @reaction(inp, effects=out)
    def forward(self):
        self.out.set(self.inp.value)


@pytest.mark.parametrize("placement", ["packed", "isolated"])
def test_an_array_that_nobody_keeps_is_read_where_its_sender_made_it(placement):
    class Top(Reactor):
        def __init__(self):
            self.fresh, self.first, self.second, self.relay, self.third = Fresh(), Where(), Where(), Relay(), Where()
            self.connect(self.fresh.out, self.first.inp)
            self.connect(self.fresh.out, self.second.inp)
            self.connect(self.fresh.out, self.relay.inp)
            self.connect(self.relay.out, self.third.inp)

    program = Program(Top(), fast=True, placement=placement, workers=2, trace=True, timeout=50)
    program.run()
    written, seen = {}, {}
    for time, _, _, values in program.trace.entries:
        if "where" in values:
            written[time] = values["where"]
        if "seen" in values:
            seen.setdefault(time, []).append(values["seen"])
    assert len(written) == 6
    for number, (time, where) in enumerate(written.items(), start=1):
        assert len(seen[time]) == 3
        assert len(set(seen[time])) == 1  # all read the same memory
        place, rest = seen[time][0].split(", ", 1)
        assert rest == f"{SIZE * number}, False)"
        assert where == "None" or place == f"({where}"
    assert sum(where != "None" for where in written.values()) >= 4  # the first ones tell which sizes are wanted


class Reshapes(Reactor):
    """Changes the shape of what it got, and hands it on."""

    inp = Input(np.ndarray)
    out = Output(np.ndarray)

    @reaction(inp, effects=out)
    def forward(self):
        array = self.inp.value.view()
        array.shape = (2, -1)
        self.inp.value.shape = (-1, 4)
        self.out.set(self.inp.value if self.tag.time % 20 == 0 else array)


class Shape(Reactor):
    inp = Input(np.ndarray)
    shape = Output(tuple)

    @reaction(inp, effects=shape)
    def look(self):
        self.shape.set(self.inp.value.shape)


def test_what_is_handed_on_has_the_shape_that_it_was_given():
    class Top(Reactor):
        def __init__(self):
            self.fresh, self.change, self.look = Fresh(), Reshapes(), Shape()
            self.connect(self.fresh.out, self.change.inp)
            self.connect(self.change.out, self.look.inp)

    shapes = texts(Top, "shape", "isolated", timeout=10)
    assert set(shapes) <= {f"({SIZE // 4}, 4)", f"(2, {SIZE // 2})"}
    assert len(shapes) == 2


@dataclass
class Batch:
    """Cannot be sent but pickled."""

    rows: np.ndarray
    note: str


@dataclass
class Small:
    n: int


class Mixed(Reactor):
    """Sends large and small values of all kinds at one tag, some twice."""

    out = Output()
    batch = Output()
    table = Output()
    small = Output()
    again = Output()
    tick = Timer(0, nsec(10))
    later = Action()

    def __init__(self):
        self.n = 0

    @reaction(tick, effects=[out, batch, table, small, again, later])
    def send(self):
        self.n += 1
        array = np.full(SIZE, self.n)
        self.out.set(array)
        self.again.set(array)
        self.batch.set(Batch(array + 1, "rows"))
        self.table.set({"a": array + 2, "b": [b"x" * SIZE, "y" * SIZE]})
        self.small.set(Small(self.n))
        self.later.schedule(0, (self.n, array + 3))

    @reaction(later)
    def last(self):
        number, array = self.later.value
        print("later", number, int(array[-1]), array.flags.writeable)


class Reads(Reactor):
    out = Input()
    batch = Input()
    table = Input(mutable=True)
    small = Input()
    again = Input()
    found = Output(list)

    @reaction(out, batch, table, small, again, effects=found)
    def read(self):
        table = self.table.value
        table["a"] += 1  # its own
        self.found.set(
            [
                int(self.out.value[0]),
                int(self.again.value[-1]),
                (int(self.batch.value.rows[5]), self.batch.value.note),
                (int(table["a"][7]), len(table["b"][0]), table["b"][1][-1]),
                self.small.value.n,
            ]
        )


class Physical(Reads):
    """Stays in the process of the program."""

    never = PhysicalAction()

    @reaction(never)
    def nothing(self):
        pass


@PLACEMENTS
def test_values_of_all_kinds_arrive_at_all_receivers(placement, capfd):
    class Top(Reactor):
        def __init__(self):
            self.mixed, self.first, self.second, self.here = Mixed(), Reads(), Reads(), Physical()
            for reads in (self.first, self.second, self.here):
                for name in ("out", "batch", "table", "small", "again"):
                    self.connect(getattr(self.mixed, name), getattr(reads, name))

    found = texts(Top, "found", placement, timeout=11, keepalive=False)
    expected = [str([n, n, (n + 1, "rows"), (n + 3, SIZE, "y"), n]) for n in (1, 2)]
    assert found == [text for text in expected for _ in range(3)]
    said = [line.split() for line in capfd.readouterr().out.splitlines()]
    assert [line[:3] for line in said] == [["later", "1", "4"], ["later", "2", "5"]]


class Here(Sender):
    """A sender that stays in the process of the program."""

    never = PhysicalAction()

    @reaction(never)
    def nothing(self):
        pass


def test_a_sender_in_the_process_of_the_program_stores_a_value_once_for_all_receivers():
    class Top(Reactor):
        def __init__(self):
            self.sender, self.first, self.second = Here(), Where(), Where()
            self.connect(self.sender.out, self.first.inp)
            self.connect(self.sender.out, self.second.inp)

    seen = texts(Top, "seen", "isolated", keepalive=False, timeout=20)
    assert len(seen) == 4
    assert seen[0] == seen[1]
    assert seen[2] == seen[3]
    assert [text.split(", ", 1)[1] for text in seen[::2]] == [f"{SIZE}, False)", f"{3 * SIZE}, False)"]


class Dies(Reactor):
    inp = Input(np.ndarray)

    @reaction(inp)
    def die(self):
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_receiver_that_dies_ends_the_program_and_leaves_nothing():
    class Top(Reactor):
        def __init__(self):
            self.fresh, self.dies, self.other = Fresh(), Dies(), Where()
            self.connect(self.fresh.out, self.dies.inp)
            self.connect(self.fresh.out, self.other.inp)

    for _ in range(2):
        with pytest.raises(WorkerError, match=r"Dies|dies"):
            Program(Top(), fast=True, timeout=30, placement="isolated").run()


class Many(Reactor):
    """Sends far more than the store has room for."""

    out = Output(np.ndarray)
    done = Input()

    def __init__(self):
        self.n = 0

    @reaction(STARTUP, done, effects=out)
    def send(self):
        if self.n < 60:
            self.n += 1
            self.out.set(np.full(4_000_000, self.n))


class Answers(Reactor):
    inp = Input(np.ndarray)
    done = Output()

    @reaction(inp, effects=done)
    def answer(self):
        self.done.set(int(self.inp.value[-1]))


def test_the_memory_of_values_that_nobody_has_any_more_is_used_again():
    class Top(Reactor):
        def __init__(self):
            self.many, self.answers = Many(), Answers()
            self.connect(self.many.out, self.answers.inp)
            self.connect(self.answers.done, self.many.done, after=nsec(1))

    done = texts(Top, "done", "packed", timeout=None)
    assert done[-1] == "60"


class Tensors(Reactor):
    out = Output()
    back = Input()
    tick = Timer(0, nsec(10))
    shown = Output(list)

    def __init__(self):
        self.n = 0

    @reaction(tick, effects=out)
    def send(self):
        import torch

        self.n += 1
        self.kept = {"w": torch.full((SIZE,), float(self.n)), "b": torch.zeros(3)}
        self.out.set(self.kept)

    @reaction(back, effects=shown)
    def show(self):
        self.shown.set([float(self.kept["w"][0]), float(self.back.value["w"][0])])


class Doubles(Reactor):
    inp = Input()
    out = Output()

    @reaction(inp, effects=out)
    def double(self):
        self.inp.value["w"] *= 2  # a tensor is writable, and the reader's own
        self.out.set(self.inp.value)


@pytest.mark.parametrize("placement", ["packed", "isolated"])
def test_a_tensor_that_is_written_to_is_handed_on_as_written(placement):
    pytest.importorskip("torch")

    class Top(Reactor):
        def __init__(self):
            self.tensors, self.doubles = Tensors(), Doubles()
            self.connect(self.tensors.out, self.doubles.inp)
            self.connect(self.doubles.out, self.tensors.back)

    assert texts(Top, "shown", placement, timeout=20) == [f"[{n}.0, {2 * n}.0]" for n in (1, 2, 3)]


def test_what_is_large_is_told_by_its_parts():
    class Odd:
        nbytes = property(lambda self: 1 / 0)

    array = np.zeros(SIZE)
    circle = [1]
    circle.append(circle)
    assert all(map(is_large, [array, [1, (2, array)], {1: array}, Batch(array, ""), b"x" * SIZE, {"x" * SIZE}]))
    assert not any(
        map(is_large, [None, 1, "x", [1] * 1000, np.zeros(3), np.float64(1), Small(2), Odd(), circle, Batch])
    )
