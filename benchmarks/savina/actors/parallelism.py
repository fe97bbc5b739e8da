"""The parallel benchmarks as actors."""

from benchmarks.savina import work
from benchmarks.savina.actor import Actor


class Master(Actor):
    """Gives tasks to the workers that have none; tasks that come of tasks go first."""

    def __init__(self, workers, tasks):
        self.idle, self.tasks, self.running, self.parts = list(workers), tasks[::-1], 0, []
        self.given = 0

    def begin(self, me):
        self.me = me
        self.give()

    def give(self):
        while self.idle and self.tasks:
            self.running += 1
            self.send(self.idle[-1], "work", self.me, self.idle.pop(), self.given, self.tasks.pop())
            self.given += 1
        if not self.running:
            self.finish([part for _, part in sorted(self.parts, key=lambda numbered: numbered[0])])

    def take(self, worker, number, part, more):
        self.running -= 1
        self.idle.append(worker)
        self.parts.append((number, part))
        self.tasks.extend(more)
        self.give()


class Worker(Actor):
    def __init__(self, function):
        self.function = getattr(work, function)

    def work(self, master, me, number, task):
        self.send(master, "take", me, number, *self.function(task))


def _parts(system, workers, function, tasks):
    master = system.spawn(Master, [system.spawn(Worker, function) for _ in range(workers)], tasks)
    system.send(master, "begin", master)
    return system.result()


def trapezoid(system, pieces, workers, left, right):
    return sum(_parts(system, workers, "trapezoid", work.trapezoids(pieces, workers, left, right)))


def queens(system, workers, size, threshold):
    return sum(_parts(system, workers, "queens", [(size, threshold, 0, 0, 0, 0)]))


def pi(system, workers, precision):
    return work.pi_checksum(_parts(system, workers, "pi_terms", work.pi_tasks(precision)), precision)


def matrix(system, workers, length, threshold):
    return work.product_checksum(_parts(system, workers, "multiply", [(length, threshold, 0, 0, 0, length)]), length)


class Block(Actor):
    """A block of the matrix of distances. Each step is a node; it takes a row and a column of the blocks that have that node."""

    def __init__(self, place, distances, nodes):
        self.place, self.distances, self.nodes, self.step = place, distances.copy(), nodes, 0
        self.rows, self.columns = {}, {}

    def meet(self, blocks, sink):
        self.blocks, self.sink = blocks, sink

    def begin(self):
        self.give()
        self.go_on()

    def give(self):
        """Sends its part of the row and the column of the current node, if it has them, to the blocks that need them."""
        if self.step == self.nodes:
            return
        row, column = self.place
        owner, line = divmod(self.step, len(self.distances))
        if row == owner:
            values = self.distances[line].copy()
            self.spread("take_row", values, [place for place in self.blocks if place[1] == column])
        if column == owner:
            values = self.distances[:, line].copy()
            self.spread("take_column", values, [place for place in self.blocks if place[0] == row])

    def spread(self, method, values, places):
        for place in places:
            if place == self.place:
                (self.rows if method == "take_row" else self.columns)[self.step] = values
            else:
                self.send(self.blocks[place], method, self.step, values)

    def take_row(self, step, values):
        self.rows[step] = values
        self.go_on()

    def take_column(self, step, values):
        self.columns[step] = values
        self.go_on()

    def go_on(self):
        while self.step in self.rows and self.step in self.columns:
            work.shorten(self.distances, self.columns.pop(self.step), self.rows.pop(self.step))
            self.step += 1
            self.give()
            if self.step == self.nodes:
                self.send(self.sink, "take", int(self.distances.sum()))


class Sum(Actor):
    def __init__(self, expected):
        self.expected, self.total = expected, 0

    def take(self, value):
        self.total += value
        self.expected -= 1
        if not self.expected:
            self.finish(self.total)


def shortest_paths(system, nodes, block):
    parts = work.graph(nodes, block)
    sink = system.spawn(Sum, len(parts))
    blocks = {place: system.spawn(Block, place, distances, nodes) for place, distances in parts.items()}
    system.ask_all([(one, "meet", blocks, sink) for one in blocks.values()])
    for one in blocks.values():
        system.send(one, "begin")
    return system.result()


class Sorter(Actor):
    """Sorts by one bit: values without it go on at once, the others when all have come."""

    def __init__(self, bit, size, after):
        self.bit, self.left, self.after, self.kept = bit, size, after, []

    def value(self, value):
        if value & self.bit:
            self.kept.append(value)
        else:
            self.send(self.after, "value", value)
        self.left -= 1
        if not self.left:
            for kept in self.kept:
                self.send(self.after, "value", kept)


class Sorted(Actor):
    def __init__(self, size):
        self.size, self.place, self.checksum, self.last = size, 0, 0, -1

    def value(self, value):
        if value < self.last:
            raise ValueError(f"value {value} comes after {self.last}")
        self.last = value
        self.checksum = work.order_checksum(self.checksum, self.place, value)
        self.place += 1
        if self.place == self.size:
            self.finish(self.checksum)


class Source(Actor):
    def begin(self, first, values):
        for value in values:
            self.send(first, "value", value)


def radix_sort(system, size, limit, seed):
    first = system.spawn(Sorted, size)
    bit = limit >> 1
    while bit:
        first = system.spawn(Sorter, bit, size, first)
        bit >>= 1
    system.send(system.spawn(Source), "begin", first, work.to_sort(size, seed, limit))
    return system.result()


class Filter(Actor):
    def __init__(self, coefficients, after, method):
        self.filter, self.after, self.method = work.Delayed(coefficients), after, method

    def value(self, channel, value):
        self.send(self.after, self.method, channel, self.filter.next(value))


class Combine(Actor):
    """Adds what the channels give for one sample."""

    def __init__(self, channels, samples):
        self.waiting, self.left, self.total = [[] for _ in range(channels)], samples, 0.0

    def value(self, channel, value):
        self.waiting[channel].append(value)
        while all(self.waiting):
            self.total += sum(values.pop(0) for values in self.waiting)
            self.left -= 1
            if not self.left:
                self.finish(self.total)
                return


class Signal(Actor):
    def begin(self, firsts, samples):
        for sample in range(samples):
            for channel, first in enumerate(firsts):
                self.send(first, "value", channel, float(sample % 100))


def filter_bank(system, columns, simulations, channels):
    combine = system.spawn(Combine, channels, simulations)
    firsts = []
    for channel in range(channels):
        analysis, synthesis = work.coefficients(channel, columns)
        firsts.append(system.spawn(Filter, analysis, system.spawn(Filter, synthesis, combine, "value"), "value"))
    system.send(system.spawn(Signal), "begin", firsts, simulations)
    return system.result()
