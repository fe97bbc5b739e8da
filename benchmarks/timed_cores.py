"""The pace of timed order on many cores, by simulation: python -m benchmarks timed_cores [--actors N ...] [--rounds N]

The readable model of timed order (reactor/tests/timed_order.py) runs asynchronous programs with a core for each actor. The logical durations are those of one drawn run, the
real ones are drawn anew, so a call that was short when measured may be long now. The pace is the time of a run by arrival over that of a run in timed order, with the same
real durations. The cost of the runtime itself is left out: `python -m benchmarks timed` measures it.
"""

import argparse
import heapq
import math
import random

from reactor.tests import timed_order as model
from rich.console import Console
from rich.table import Table

TICKS = 1000  # of a millisecond


class Simulated(model.Run):
    """A run in which operations come when they come, and calls start and waits end as soon as the rule allows it. `real`: gives the ticks that a stretch takes
    now. `now`: real time, in ticks."""

    def __init__(self, *program, real, **more):
        self.real, self.now, self.coming, self.number = real, 0, [], 0
        super().__init__(*program, **more)

    def _advance(self, strand, answer):
        super()._advance(strand, answer)
        self.number += 1
        takes = max(1, self.real(strand.tag, strand.stretches - 1, strand.operation))
        heapq.heappush(self.coming, (self.now + takes, self.number, strand))

    def by_the_rule(self):
        while self.coming:
            self.now, _, strand = heapq.heappop(self.coming)
            self.operate(strand)
            while ready := [what for what, at in self.events() if self._waits(what) and self.allowed(what, at)]:
                for what in ready:
                    if isinstance(what, model.Server):
                        self.start(what)
                    else:
                        self.resume(what)
        return self._ended()

    def _waits(self, what):
        return isinstance(what, model.Server) or what in self.blocked


# ---- programs; a stretch takes what the Stretch before it says, in ms, times a factor that is drawn; others take 20 us


def a3c(actors, rounds):
    """(drivers, methods, states): workers take weights from one server and send it gradients, without waiting for each other."""

    def work(state, mean):
        for _ in range(rounds):
            weights = yield model.Call("server", "weights", ())
            yield model.Get(weights)
            yield model.Call("server", "apply", ("takes", mean))
        return state, None

    def weights(state):
        return state, None
        yield

    def apply(state, *_):
        return state, None
        yield

    def driver():
        refs = []
        for number in range(actors):
            refs.append((yield model.Call(number, "work", (10.0,))))
        yield model.Wait(refs, len(refs))

    states = {"server": 0, **dict.fromkeys(range(actors), 0)}
    return [driver], {"work": work, "weights": weights, "apply": apply}, states


def impala(actors, rounds):
    """The driver takes whatever trajectory is there first, learns, and sends the actor on with new weights."""

    def play(state):
        return state, None
        yield

    def driver():
        playing = {}
        for number in range(actors):
            playing[(yield model.Call(number, "play", ()))] = number
        for _ in range(actors * rounds):
            (ready,) = yield model.Wait(list(playing), 1)
            number = playing.pop(ready)
            playing[(yield model.Call(number, "play", ()))] = number
        yield model.Wait(list(playing), len(playing))

    return [driver], {"play": play}, dict.fromkeys(range(actors), 0)


def ape_x(actors, rounds):
    """Actors add to one replay buffer; a learner samples from it all the time; the driver waits for the actors."""

    def play(state):
        for _ in range(rounds):
            yield model.Call("buffer", "add", ("takes", 10.0))
        return state, None

    def learn(state):
        for _ in range(rounds * 4):
            batch = yield model.Call("buffer", "sample", ("takes", 2.0))
            yield model.Get(batch)
        return state, None

    def quick(state, *_):
        return state, None
        yield

    def driver():
        refs = [(yield model.Call("learner", "learn", ()))]
        for number in range(actors):
            refs.append((yield model.Call(number, "play", ())))
        yield model.Wait(refs, len(refs))

    states = {"buffer": 0, "learner": 0, **dict.fromkeys(range(actors), 0)}
    return [driver], {"play": play, "learn": learn, "add": quick, "sample": quick}, states


PROGRAMS = {"A3C": a3c, "IMPALA": impala, "Ape-X": ape_x}


def steady(chance):
    return math.exp(0.1 * chance.gauss(0, 1))


def varied(chance):
    return math.exp(0.5 * chance.gauss(0, 1))


def heavy(chance):
    """One in fifty takes twenty times as long."""
    return 20.0 if chance.random() < 0.02 else steady(chance)


VARIATIONS = {"10%": steady, "50%": varied, "heavy tail": heavy}


def mean_ms(program, actors, operation, first):
    """What a stretch takes on average that ends with this operation."""
    if isinstance(operation, model.Call) and operation.arguments[:1] == ("takes",):
        return operation.arguments[1]
    if program == "IMPALA" and isinstance(operation, model.End) and operation.value is not None:
        return 10.0  # a trajectory
    if program == "IMPALA" and isinstance(operation, model.Call) and not first:
        return 0.7 * 10.0 / actors  # an update: the learner is nearly as fast as the actors
    return 0.02


def pace(program, actors, rounds, variation, seed):
    """Time by arrival over time in timed order."""

    def durations(draw_of):
        known = {}

        def duration(tag, stretch, operation):
            key = tag, stretch
            if key not in known:
                chance = random.Random(f"{seed} {draw_of} {tag} {stretch}")
                known[key] = round(
                    TICKS * mean_ms(program, actors, operation, stretch < actors) * VARIATIONS[variation](chance)
                )
            return known[key]

        return duration

    def made():
        drivers, methods, states = PROGRAMS[program](actors, rounds)
        return {"drivers": drivers, "methods": methods, "states": states, "cpus": actors}

    def run(logical, real):
        parts = made()
        simulated = Simulated(
            parts["drivers"], parts["methods"], logical, cpus=actors, states=parts["states"], real=real
        )
        return simulated.by_the_rule().now

    now = durations("now")
    return run(now, now) / run(durations("measured"), now)


def main(argv=()):
    parser = argparse.ArgumentParser(prog="python -m benchmarks timed_cores", description=__doc__.splitlines()[0])
    parser.add_argument("--actors", type=int, nargs="+", default=[4, 16, 64], metavar="N")
    parser.add_argument("--rounds", type=int, default=20, metavar="N", help="of each actor (default: %(default)s)")
    arguments = parser.parse_args(argv)
    table = Table("program", "durations vary by", *(f"{n} actors" for n in arguments.actors))
    for program in PROGRAMS:
        for variation in VARIATIONS:
            paces = [pace(program, actors, arguments.rounds, variation, 1) for actors in arguments.actors]
            table.add_row(program, variation, *(f"{value:.2f}" for value in paces))
        table.add_section()
    console = Console()
    console.print("pace of timed order over arrival order, simulated:")
    console.print(table)
    return 0
