"""The cost of a reaction: `python -m benchmarks.reactions`.

A chain of reactors, each of which hands a value on, at many tags. The cost of one reaction is what a longer chain takes more than a
shorter one; the cost of a tag is that of two reactions, an action that comes a microstep later, and all that lies between.
"""

import time
import timeit

from reactor import STARTUP, Action, Input, Output, Program, Reactor, reaction


class First(Reactor):
    out = Output()
    again = Action()

    def __init__(self, tags, value):
        self.left, self.value = tags, value

    @reaction(STARTUP, again, effects=[out, again])
    def go(self):
        self.out.set(self.value)
        self.left -= 1
        if self.left > 0:
            self.again.schedule()


class Link(Reactor):
    inp = Input()
    out = Output()

    @reaction(inp, effects=out)
    def hand_on(self):
        self.out.set(self.inp.value)


class Chain(Reactor):
    def __init__(self, tags, length, value):
        self.first, self.links = First(tags, value), [Link() for _ in range(length)]
        last = self.first.out
        for link in self.links:
            self.connect(last, link.inp)
            last = link.out


class Called:
    def method(self, value):
        return value


def seconds(tags, length, value, **settings):
    """Of one run, its start and end included."""
    program = Program(Chain(tags, length, value), fast=True, **settings)
    began = time.perf_counter()
    program.run()
    return time.perf_counter() - began


def main(tags=400, repeats=7):
    bound = Called().method
    call = min(timeit.repeat("bound(1)", globals={"bound": bound}, number=100_000, repeat=repeats)) / 100_000
    print(f"call of a bound method: {call * 1e9:.0f} ns; a reaction may cost {2 * call * 1e9 + 300:.0f} ns")
    for value in (None, 1):
        cost = min(seconds(tags, 1010, value) - seconds(tags, 10, value) for _ in range(repeats)) / tags / 1000
        print(f"a reaction, value {value}, inline: {cost * 1e9:.0f} ns")
    tag = min(seconds(20_000, 1, 1) for _ in range(3)) / 20_000
    print(f"a tag with two reactions, inline: {tag * 1e6:.2f} us")
    there = (
        min(seconds(2100, 1, 1, placement="isolated") - seconds(100, 1, 1, placement="isolated") for _ in range(2))
        / 2000
    )
    print(f"a tag with two reactions, on two workers: {there * 1e6:.0f} us")


if __name__ == "__main__":
    main()
