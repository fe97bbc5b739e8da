"""What the functions and classes of a module keep outside of instances, for the tests of what actors share."""

import functools

import numpy as np

LIMIT = 3
NAMES = ("a", "b")
rng = np.random.default_rng(0)
table = {}


def pure(x):
    return min(x, LIMIT)


def counted():
    table["n"] = table.get("n", 0) + 1


def kept(x, seen=[]):  # noqa: B006
    seen.append(x)


@functools.lru_cache
def drawn():
    return 1


class Base:
    cache = {}  # noqa: RUF012
    names = {"a": 1}  # noqa: RUF012

    def put(self, x):
        self.cache[x] = x

    def read(self):
        return self.names["a"], "b" in self.names, [*self.names.items()]


class OnlyReads:
    names = {"a": 1}  # noqa: RUF012

    def __init__(self, x=None):
        self.x = x

    def read(self):
        return self.names["a"], "b" in self.names, [*self.names.items()]


class Counts:
    def __init__(self):
        type(self).made = getattr(type(self), "made", 0) + 1  # pyright: ignore[reportAttributeAccessIssue]


def by(decorated):
    calls = []

    @functools.wraps(decorated)
    def wrapper(*args):
        calls.append(args)
        return decorated(*args)

    return wrapper


@by
def wrapped():
    return 1


class Settings:
    rate = 1


class Nesting:
    class Count:
        n = 0
