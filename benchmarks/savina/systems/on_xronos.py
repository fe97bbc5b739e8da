"""The programs of `reactors/` that need no multiports, which xronos does not have, as reactors for xronos.

Each function makes the program in an environment, and gives what gives the checksum after the run.
"""

from datetime import timedelta
from itertools import pairwise

import xronos
from xronos import InputPortDeclaration, OutputPortDeclaration, ProgrammableTimerDeclaration

from benchmarks.savina import work


class Ping(xronos.Reactor):
    back, hit, next = InputPortDeclaration(), OutputPortDeclaration(), ProgrammableTimerDeclaration()

    def __init__(self, pings):
        super().__init__()
        self.pings, self.returned = pings, 0

    @xronos.reaction
    def begin(self, context):
        context.add_trigger(self.startup)
        context.add_trigger(self.next)
        hit = context.add_effect(self.hit)
        return lambda: hit.set(None)

    @xronos.reaction
    def take(self, context):
        context.add_trigger(self.back)
        next = context.add_effect(self.next)

        def handler():
            self.returned += 1
            if self.returned < self.pings:
                next.schedule(None)

        return handler


class Pong(xronos.Reactor):
    hit, back = InputPortDeclaration(), OutputPortDeclaration()

    @xronos.reaction
    def give_back(self, context):
        context.add_trigger(self.hit)
        back = context.add_effect(self.back)
        return lambda: back.set(None)


def ping_pong(environment, pings):
    ping, pong = environment.create_reactor("ping", Ping, pings), environment.create_reactor("pong", Pong)
    environment.connect(ping.hit, pong.hit)
    environment.connect(pong.back, ping.back)
    return lambda: ping.returned


class Producer(xronos.Reactor):
    out, next = OutputPortDeclaration(), ProgrammableTimerDeclaration()

    def __init__(self, messages):
        super().__init__()
        self.left = messages

    @xronos.reaction
    def produce(self, context):
        context.add_trigger(self.startup)
        context.add_trigger(self.next)
        out, next = context.add_effect(self.out), context.add_effect(self.next)

        def handler():
            out.set(None)
            self.left -= 1
            if self.left:
                next.schedule(None)

        return handler


class Counter(xronos.Reactor):
    inp = InputPortDeclaration()

    def __init__(self):
        super().__init__()
        self.count = 0

    @xronos.reaction
    def increment(self, context):
        context.add_trigger(self.inp)

        def handler():
            self.count += 1

        return handler


def counting(environment, messages):
    producer, counter = (
        environment.create_reactor("producer", Producer, messages),
        environment.create_reactor("counter", Counter),
    )
    environment.connect(producer.out, counter.inp)
    return lambda: counter.count


class Worker(Counter):
    @xronos.reaction
    def increment(self, context):
        context.add_trigger(self.inp)

        def handler():
            work.sine()
            self.count += 1

        return handler


def fork_join(environment, messages, actors):
    producer = environment.create_reactor("producer", Producer, messages)
    workers = [environment.create_reactor(f"worker_{number}", Worker) for number in range(actors)]
    for worker in workers:
        environment.connect(producer.out, worker.inp)
    return lambda: sum(worker.count for worker in workers)


def creation(environment, actors):
    return fork_join(environment, 1, actors)


class Link(xronos.Reactor):
    inp, out = InputPortDeclaration(), OutputPortDeclaration()

    def __init__(self, number, hops):
        super().__init__()
        self.number, self.hops, self.reached = number, hops, False

    @xronos.reaction
    def begin(self, context):
        context.add_trigger(self.startup)
        out = context.add_effect(self.out)

        def handler():
            if self.number == 0:
                self.pass_on(out, self.hops)

        return handler

    @xronos.reaction
    def take(self, context):
        inp, out = context.add_trigger(self.inp), context.add_effect(self.out)
        return lambda: self.pass_on(out, inp.get())

    def pass_on(self, out, left):
        if left:
            out.set(left - 1)
        else:
            self.reached = True


def thread_ring(environment, actors, hops):
    links = [environment.create_reactor(f"link_{number}", Link, number, hops) for number in range(actors)]
    for one, other in pairwise(links):
        environment.connect(one.out, other.inp)
    environment.connect(links[-1].out, links[0].inp, timedelta(0))
    return lambda: next(link.number for link in links if link.reached)


class Series(xronos.Reactor):
    result, compute, next = InputPortDeclaration(), OutputPortDeclaration(), ProgrammableTimerDeclaration()

    def __init__(self, terms):
        super().__init__()
        self.left, self.term = terms, 0.5

    @xronos.reaction
    def ask(self, context):
        context.add_trigger(self.startup)
        context.add_trigger(self.next)
        compute = context.add_effect(self.compute)
        return lambda: compute.set(self.term)

    @xronos.reaction
    def take(self, context):
        result, next = context.add_trigger(self.result), context.add_effect(self.next)

        def handler():
            self.term = result.get()
            self.left -= 1
            if self.left:
                next.schedule(None)

        return handler


class RateComputer(xronos.Reactor):
    term, result = InputPortDeclaration(), OutputPortDeclaration()

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    @xronos.reaction
    def compute(self, context):
        term, result = context.add_trigger(self.term), context.add_effect(self.result)
        return lambda: result.set(work.next_term(self.rate, term.get()))


def logistic_map(environment, terms, series, start_rate):
    all_series = [environment.create_reactor(f"series_{number}", Series, terms) for number in range(series)]
    for number, one in enumerate(all_series):
        computer = environment.create_reactor(f"computer_{number}", RateComputer, work.rate_of(number, start_rate))
        environment.connect(one.compute, computer.term)
        environment.connect(computer.result, one.result)
    return lambda: sum(one.term for one in all_series)


class Source(xronos.Reactor):
    out, next = OutputPortDeclaration(), ProgrammableTimerDeclaration()

    def __init__(self, values):
        super().__init__()
        self.values = iter(values)

    @xronos.reaction
    def give(self, context):
        context.add_trigger(self.startup)
        context.add_trigger(self.next)
        out, next = context.add_effect(self.out), context.add_effect(self.next)

        def handler():
            for value in self.values:
                out.set(value)
                next.schedule(None)
                return

        return handler


class Sorter(xronos.Reactor):
    inp, out, next = InputPortDeclaration(), OutputPortDeclaration(), ProgrammableTimerDeclaration()

    def __init__(self, bit, size):
        super().__init__()
        self.bit, self.left, self.kept = bit, size, []

    @xronos.reaction
    def give(self, context):
        value, out, next = context.add_trigger(self.next), context.add_effect(self.out), context.add_effect(self.next)

        def handler():
            out.set(value.get())
            self.give_later(next)

        return handler

    @xronos.reaction
    def take(self, context):
        inp, out, next = context.add_trigger(self.inp), context.add_effect(self.out), context.add_effect(self.next)

        def handler():
            value = inp.get()
            if value & self.bit:
                self.kept.append(value)
            else:
                out.set(value)
            self.left -= 1
            if not self.left:
                self.kept.reverse()
                self.give_later(next)

        return handler

    def give_later(self, next):
        if self.kept:
            next.schedule(self.kept.pop())


class Sorted(xronos.Reactor):
    inp = InputPortDeclaration()

    def __init__(self):
        super().__init__()
        self.place, self.checksum, self.last = 0, 0, -1

    @xronos.reaction
    def take(self, context):
        inp = context.add_trigger(self.inp)

        def handler():
            value = inp.get()
            if value < self.last:
                raise ValueError(f"value {value} comes after {self.last}")
            self.last = value
            self.checksum = work.order_checksum(self.checksum, self.place, value)
            self.place += 1

        return handler


def radix_sort(environment, size, limit, seed):
    source = environment.create_reactor("source", Source, work.to_sort(size, seed, limit))
    sorters = [
        environment.create_reactor(f"sorter_{bit}", Sorter, 1 << bit, size) for bit in range(limit.bit_length() - 1)
    ]
    end = environment.create_reactor("sorted", Sorted)
    for one, other in zip([source, *sorters], [*sorters, end]):
        environment.connect(one.out, other.inp)
    return lambda: end.checksum
