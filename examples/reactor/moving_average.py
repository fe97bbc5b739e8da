"""A source, a filter with a delay, and a sink: declared, checked, compiled, run without waiting for the clock."""

from reactor import SHUTDOWN, Input, Output, Program, Reactor, Timer, msec, reaction, sec


class Source(Reactor):
    out = Output(int)
    tick = Timer(0, msec(200))

    def __init__(self):
        self.n = 0

    @reaction(tick, effects=out)
    def emit(self):
        self.out.set(self.n)
        self.n += 1


class Average(Reactor):
    """The mean of the last `width` values."""

    inp = Input(int)
    out = Output(float)

    def __init__(self, width):
        self.last = [0] * width

    @reaction(inp, effects=out)
    def push(self):
        self.last = [*self.last[1:], self.inp.value]
        self.out.set(sum(self.last) / len(self.last))


class Show(Reactor):
    raw = Input(int)
    mean = Input(float)

    def __init__(self):
        self.shown = 0

    @reaction(raw, mean)
    def show(self):
        self.shown += 1
        print(
            f"{self.elapsed // 10**6} ms: raw {self.raw.value}, mean {self.mean.value if self.mean.is_present else '-'}"
        )

    @reaction(SHUTDOWN)
    def end(self):
        print(f"{self.shown} lines")


class Main(Reactor):
    def __init__(self):
        self.source, self.average, self.show = Source(), Average(4), Show()
        self.connect(self.source.out, self.average.inp)
        self.connect(self.source.out, self.show.raw)
        self.connect(self.average.out, self.show.mean, after=msec(100))


if __name__ == "__main__":
    program = Program(Main, timeout=sec(0.5), fast=True)
    print(program.plan)
    program.run()
