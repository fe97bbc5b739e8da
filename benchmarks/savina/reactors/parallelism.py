"""The parallel benchmarks as reactors."""

from reactor import STARTUP, Action, Input, Output, PhysicalAction, Reactor, reaction

from benchmarks.savina import work


class Master(Reactor):
    """Gives a task to each worker that has none; tasks that come of tasks go first."""

    give = Output(width=0)
    done = Input(width=0)
    next = Action()
    here = PhysicalAction()  # keeps it, and so its result, in the process of the program

    def __init__(self, workers, tasks):
        self.tasks, self.given, self.parts = tasks[::-1], 0, []
        self.give.resize(workers)
        self.done.resize(workers)

    @reaction(STARTUP, next, effects=give)
    def hand_out(self):
        for port in self.give:
            if not self.tasks:
                return
            port.set((self.given, self.tasks.pop()))
            self.given += 1

    @reaction(done, effects=next)
    def take(self):
        for worker in self.done.present:
            number, part, more = self.done[worker].value
            self.parts.append((number, part))
            self.tasks.extend(more)
        if self.tasks:
            self.next.schedule()

    @reaction(here)
    def never(self):
        pass

    def in_order(self):
        return [part for _, part in sorted(self.parts, key=lambda numbered: numbered[0])]


class Worker(Reactor):
    task = Input()
    done = Output()

    def __init__(self, function):
        self.function = getattr(work, function)

    @reaction(task, effects=done)
    def work(self):
        number, task = self.task.value
        self.done.set((number, *self.function(task)))


class Workers(Reactor):
    def __init__(self, workers, function, tasks):
        self.master, self.workers = Master(workers, tasks), [Worker(function) for _ in range(workers)]
        self.connect(self.master.give, [worker.task for worker in self.workers])
        self.connect([worker.done for worker in self.workers], self.master.done)


def trapezoid(pieces, workers, left, right):
    top = Workers(workers, "trapezoid", work.trapezoids(pieces, workers, left, right))
    return top, lambda: sum(top.master.in_order())


def queens(workers, size, threshold):
    top = Workers(workers, "queens", [(size, threshold, 0, 0, 0, 0)])
    return top, lambda: sum(top.master.in_order())


def pi(workers, precision):
    top = Workers(workers, "pi_terms", work.pi_tasks(precision))
    return top, lambda: work.pi_checksum(top.master.in_order(), precision)


def matrix(workers, length, threshold):
    top = Workers(workers, "multiply", [(length, threshold, 0, 0, 0, length)])
    return top, lambda: work.product_checksum(top.master.in_order(), length)


class Block(Reactor):
    """A block of the matrix of distances. Each tag is a node: the blocks that have it give its row and its column to the others."""

    row = Input()
    column = Input()
    give_row = Output()
    give_column = Output()
    rest = Output()
    next = Action()

    def __init__(self, place, distances, nodes):
        self.place, self.distances, self.nodes, self.step = place, distances, nodes, 0

    @reaction(STARTUP, next, effects=[give_row, give_column])
    def give(self):
        owner, line = divmod(self.step, len(self.distances))
        if self.place[0] == owner:
            self.give_row.set(self.distances[line].copy())
        if self.place[1] == owner:
            self.give_column.set(self.distances[:, line].copy())

    @reaction(row, column, effects=[next, rest])
    def take(self):
        work.shorten(self.distances, self.column.value, self.row.value)
        self.step += 1
        if self.step < self.nodes:
            self.next.schedule()
        else:
            self.rest.set(int(self.distances.sum()))


class Lane(Reactor):
    """Hands on what one of several gives, to all of them."""

    given = Input(width=0)
    out = Output()

    def __init__(self, width):
        self.given.resize(width)

    @reaction(given, effects=out)
    def hand_on(self):
        self.out.set(self.given[self.given.present[0]].value)


class Sum(Reactor):
    values = Input(width=0)
    here = PhysicalAction()  # keeps it, and so its result, in the process of the program

    def __init__(self, width):
        self.total = 0
        self.values.resize(width)

    @reaction(values)
    def add(self):
        self.total += sum(self.values[number].value for number in self.values.present)

    @reaction(here)
    def never(self):
        pass


class ShortestPaths(Reactor):
    def __init__(self, nodes, block):
        count = nodes // block
        self.blocks = [Block(place, distances, nodes) for place, distances in work.graph(nodes, block).items()]
        self.rows, self.columns = ([Lane(count) for _ in range(count)] for _ in range(2))
        self.sum = Sum(len(self.blocks))
        for number, one in enumerate(self.blocks):
            row, column = one.place
            self.connect(one.give_row, self.rows[column].given[row])
            self.connect(one.give_column, self.columns[row].given[column])
            self.connect(self.rows[column].out, one.row)
            self.connect(self.columns[row].out, one.column)
            self.connect(one.rest, self.sum.values[number])


def shortest_paths(nodes, block):
    top = ShortestPaths(nodes, block)
    return top, lambda: top.sum.total


class Source(Reactor):
    out = Output()
    next = Action()

    def __init__(self, values):
        self.values = iter(values)

    @reaction(STARTUP, next, effects=[out, next])
    def give(self):
        for value in self.values:
            self.out.set(value)
            self.next.schedule()
            return


class Sorter(Reactor):
    """Sorts by one bit: values without it go on at once, the others when all have come."""

    inp = Input()
    out = Output()
    next = Action()

    def __init__(self, bit, size):
        self.bit, self.left, self.kept = bit, size, []

    @reaction(next, effects=[out, next])
    def give(self):
        self.out.set(self.next.value)
        self.give_later()

    @reaction(inp, effects=[out, next])
    def take(self):
        value = self.inp.value
        if value & self.bit:
            self.kept.append(value)
        else:
            self.out.set(value)
        self.left -= 1
        if not self.left:
            self.kept.reverse()
            self.give_later()

    def give_later(self):
        if self.kept:
            self.next.schedule(0, self.kept.pop())


class Sorted(Reactor):
    inp = Input()

    def __init__(self):
        self.place, self.checksum, self.last = 0, 0, -1

    @reaction(inp)
    def take(self):
        value = self.inp.value
        if value < self.last:
            raise ValueError(f"value {value} comes after {self.last}")
        self.last = value
        self.checksum = work.order_checksum(self.checksum, self.place, value)
        self.place += 1


class RadixSort(Reactor):
    def __init__(self, size, limit, seed):
        self.source = Source(work.to_sort(size, seed, limit))
        self.sorters = [Sorter(1 << bit, size) for bit in range(limit.bit_length() - 1)]
        self.sorted = Sorted()
        self.connect(
            [self.source.out, *(sorter.out for sorter in self.sorters)],
            [*(sorter.inp for sorter in self.sorters), self.sorted.inp],
        )


def radix_sort(size, limit, seed):
    top = RadixSort(size, limit, seed)
    return top, lambda: top.sorted.checksum


class Filter(Reactor):
    inp = Input()
    out = Output()

    def __init__(self, coefficients):
        self.filter = work.Delayed(coefficients)

    @reaction(inp, effects=out)
    def take(self):
        self.out.set(self.filter.next(self.inp.value))


class Combine(Reactor):
    values = Input(width=0)

    def __init__(self, channels):
        self.total = 0.0
        self.values.resize(channels)

    @reaction(values)
    def add(self):
        self.total += sum([port.value for port in self.values])


class FilterBank(Reactor):
    def __init__(self, columns, simulations, channels):
        self.source = Source(float(sample % 100) for sample in range(simulations))
        found = [work.coefficients(channel, columns) for channel in range(channels)]
        self.analysis, self.synthesis = ([Filter(pair[k]) for pair in found] for k in (0, 1))
        self.combine = Combine(channels)
        self.connect(self.source.out, [one.inp for one in self.analysis])
        self.connect([one.out for one in self.analysis], [one.inp for one in self.synthesis])
        self.connect([one.out for one in self.synthesis], self.combine.values)


def filter_bank(columns, simulations, channels):
    top = FilterBank(columns, simulations, channels)
    return top, lambda: top.combine.total
