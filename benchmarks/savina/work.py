"""The computations of the programs, the same on every side."""

import bisect
import math
from decimal import Decimal, getcontext

import numpy as np


class Random:
    """A small generator of random numbers, so that every side draws the same ones."""

    __slots__ = ("_state",)

    def __init__(self, seed):
        self._state = (seed * 2654435761 + 12345) & 0x7FFFFFFF

    def below(self, limit):
        """A number from 0 to `limit` - 1."""
        self._state = (self._state * 1103515245 + 12345) & 0x7FFFFFFF
        return (self._state >> 8) % limit


def spin(steps):
    """Keeps a core busy."""
    x = 0
    for _ in range(steps):
        x += 1
    return x


def sine():
    """The computation of a message in the fork-join rows."""
    value = math.sin(37.2)
    return value * value


# ---- chameneos: colours are 0, 1, 2


def complement(colour, other):
    return colour if colour == other else 3 - colour - other


# ---- dictionary and sorted list

READ, WRITE, SIZE = range(3)


def request(random, write_percentage, size_percentage, keys):
    """A worker's next request: (kind, key)."""
    drawn = random.below(100)
    kind = SIZE if drawn < size_percentage else WRITE if drawn < size_percentage + write_percentage else READ
    return kind, random.below(keys)


def use_dictionary(dictionary, kind, key):
    if kind == WRITE:
        dictionary[key] = key * key
        return key
    return dictionary.get(key, -1)


def use_sorted_list(values, kind, key):
    if kind == SIZE:
        return len(values)
    place = bisect.bisect_left(values, key)
    if kind == WRITE:
        values.insert(place, key)
        return key
    return place < len(values) and values[place] == key


# ---- bounded buffer


def item(random, cost):
    """What a producer makes, and what it costs."""
    spin(cost)
    return random.below(1000)


# ---- bank: (from, to, amount)


def transactions(accounts, count):
    random = Random(123456)
    found = []
    for _ in range(count):
        source = random.below(accounts // 10 * 8)
        found.append((source, source + 1 + random.below(accounts - source - 1), random.below(1000)))
    return found


def balances_checksum(balances):
    return sum((number + 1) * balance for number, balance in enumerate(balances))


# ---- logistic map


def rate_of(series, start_rate):
    return start_rate + series * 0.0025


def next_term(rate, term):
    return rate * term * (1.0 - term)


# ---- work that a master gives to workers: (result, more tasks) of a task


def trapezoid(task):
    left, right, pieces = task
    step = (right - left) / pieces
    area = 0.0
    for k in range(pieces):
        x = left + k * step
        area += (_curve(x) + _curve(x + step)) * 0.5 * step
    return area, ()


def _curve(x):
    a = math.sin(x**3 - 1.0)
    b = x + 1.0
    return math.sqrt(1 + math.exp(math.sqrt(2 * x))) * (a / b)


def trapezoids(pieces, workers, left, right):
    width = (right - left) / workers
    return [(left + k * width, left + (k + 1) * width, pieces // workers) for k in range(workers)]


def queens(task):
    """Solutions below a position, or its successors while it has fewer queens than `threshold`."""
    size, threshold, row, columns, left, right = task
    if row < threshold:
        return 0, [(size, threshold, row + 1, *after) for after in _placed(size, columns, left, right)]
    return _solutions(size, row, columns, left, right), ()


def _placed(size, columns, left, right):
    free = ~(columns | left | right) & ((1 << size) - 1)
    while free:
        bit = free & -free
        free ^= bit
        yield columns | bit, (left | bit) << 1, (right | bit) >> 1


def _solutions(size, row, columns, left, right):
    if row == size:
        return 1
    free = ~(columns | left | right) & ((1 << size) - 1)
    found = 0
    while free:
        bit = free & -free
        free ^= bit
        found += _solutions(size, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1)
    return found


def pi_terms(task):
    """The sum of some terms of the Bailey-Borwein-Plouffe series."""
    precision, first, last = task
    getcontext().prec = precision
    total = Decimal(0)
    for k in range(first, last):
        eight = 8 * k
        term = Decimal(4) / (eight + 1) - Decimal(2) / (eight + 4) - Decimal(1) / (eight + 5) - Decimal(1) / (eight + 6)
        total += term / Decimal(16) ** k
    return total, ()


def pi_tasks(precision, terms=10):
    count = math.ceil(precision / math.log10(16)) + 2
    return [(precision + 10, first, min(first + terms, count)) for first in range(0, count, terms)]


def pi_checksum(parts, precision):
    getcontext().prec = precision + 10
    return str(sum(parts))[: precision - 2]


def matrices(length):
    numbers = np.arange(length * length, dtype=np.int64).reshape(length, length)
    return (numbers % 7).astype(np.float64), (numbers % 5).astype(np.float64)


def multiply(task):
    """A product of two blocks, or its eight halves while they are larger than `threshold`; (row, column, block)."""
    length, threshold, row, column, inner, size = task
    if size * size > threshold:
        half = size // 2
        return None, [
            (length, threshold, row + i * half, column + j * half, inner + k * half, half)
            for i in (0, 1)
            for j in (0, 1)
            for k in (0, 1)
        ]
    a, b = _held_matrices(length)
    return (
        row,
        column,
        a[row : row + size, inner : inner + size] @ b[inner : inner + size, column : column + size],
    ), ()


_MATRICES = {}


def _held_matrices(length):
    if length not in _MATRICES:
        _MATRICES[length] = matrices(length)
    return _MATRICES[length]


def product_checksum(parts, length):
    product = np.zeros((length, length))
    for row, column, block in filter(None, parts):
        size = len(block)
        product[row : row + size, column : column + size] += block
    return int(product @ np.arange(length) @ np.arange(length))


# ---- all-pairs shortest path, by blocks


def graph(nodes, block):
    """The blocks of the matrix of distances, by (row, column)."""
    random = Random(7)
    distances = np.array([[0 if i == j else 1 + random.below(100) for j in range(nodes)] for i in range(nodes)])
    count = nodes // block
    return {
        (i, j): distances[i * block : (i + 1) * block, j * block : (j + 1) * block].copy()
        for i in range(count)
        for j in range(count)
    }


def shorten(distances, column, row):
    """Distances of a block by way of one node: `column` and `row` are the distances to it and from it."""
    np.minimum(distances, column[:, None] + row[None, :], out=distances)


# ---- radix sort


def to_sort(size, seed, limit):
    random = Random(seed)
    return [
        (random.below(1 << 20) << 40 | random.below(1 << 20) << 20 | random.below(1 << 20)) % limit for _ in range(size)
    ]


def order_checksum(checksum, place, value):
    return (checksum * 31 + (place + 1) * value) % 1_000_000_007


# ---- filter bank


def coefficients(channel, columns):
    grid = np.arange(columns, dtype=np.float64)
    return grid * (channel + 1) % 13 - 6, grid * (channel + 3) % 11 - 5


class Delayed:
    """A finite impulse response filter over the last values of a signal."""

    def __init__(self, coefficients):
        self._coefficients, self._length, self._place = coefficients, len(coefficients), 0
        self._values = np.zeros(2 * self._length)

    def next(self, value):
        place = self._place
        self._values[place] = self._values[place + self._length] = value
        self._place = (place + 1) % self._length
        return float(self._coefficients @ self._values[self._place : self._place + self._length])
