"""Fast paths for common types must not take a relative of such a type for the type itself."""

import array
import collections
import datetime
import decimal
import enum
import fractions
import functools
import math
import pathlib
import re
import sys
import threading
import types
import uuid

import numpy as np
import pytest

Pair = collections.namedtuple("Pair", "a b")
Level = enum.IntEnum("Level", "LOW HIGH")
Text = type("Text", (str,), {})
Number = type("Number", (int,), {})
Real = type("Real", (float,), {})
Items = type("Items", (list,), {})
Mapping = type("Mapping", (dict,), {})
Row = type("Row", (tuple,), {})

VALUES = [
    None, True, False, 0, -1, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**400,
    1.5, -0.0, float("inf"), float("nan"), 1j, complex(0, -0.0),
    "", "text é", "a\0b", "😀", "\ud800", b"", b"bytes\0",
    (), (1, "a"), ((),), (True, 1, 1.0), [], [1, [2]], {1, 2}, set(), frozenset({3}),
    {}, {"a": {1: (2,)}}, {1: "a", "1": "b"}, {True: 1, 0: 2}, {1.5: 1, None: 2, (1,): 3}, {"b": 1, "a": 2},
    range(0, 10, 3), slice(None, 3), ..., NotImplemented, int, type(None), list[int], len, math, ValueError("v"),
    np.float64(1.5), np.int32(3), np.dtype("f4"), array.array("i", [1]),
    collections.OrderedDict(b=1, a=2), collections.defaultdict(list, {"a": [1]}), collections.Counter("aab"),
    collections.deque([1], maxlen=3), datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc),
    decimal.Decimal("1.50"), fractions.Fraction(1, 3), functools.partial(int, base=2),
    pathlib.PurePosixPath("/a"), re.compile("a+"), types.SimpleNamespace(a=1), uuid.UUID(int=5),
    Pair(1, 2), Level.HIGH, Text("s"), Number(3), Real(1.5), Items([1]), Mapping(a=1), Row((1,)),
    [Pair(1, Text("s"))], {"level": Level.LOW},
]


def shape(value):
    """The value's text and type, and those of its parts."""
    parts = value.items() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return type(value), repr(value), [shape(part) for part in parts]


@pytest.mark.parametrize("travel", ["put", "argument", "result", "inside"])
def test_values_arrive_as_they_left(ray, travel):
    @ray.remote
    def echo(*values):
        return list(values)

    if travel == "put":
        arrived = ray.get([ray.put(value) for value in VALUES])
    elif travel == "argument":
        arrived = ray.get(echo.remote(*VALUES))
    elif travel == "result":
        arrived = ray.get(echo.options(num_returns=len(VALUES)).remote(*VALUES))
    else:
        [[arrived]] = ray.get(echo.remote([VALUES]))
    assert [shape(value) for value in arrived] == [shape(value) for value in VALUES]


@pytest.mark.parametrize("kind", [list, tuple])
def test_values_may_be_deep(ray, kind):
    deep = kind()
    for _ in range(200):
        deep = kind([deep])
    arrived, depth = ray.get(ray.put(deep)), 0
    while arrived:
        [arrived], depth = arrived, depth + 1
    assert depth == 200


def test_functions_and_classes_travel_as_values(ray):
    offset = 5

    class Local:
        def value(self):
            return offset

    @ray.remote
    def call(function, cls, instance):
        return function(1), cls().value(), instance.value()

    assert ray.get(call.remote(lambda x: x + offset, Local, Local())) == (6, 5, 5)


def test_an_instance_of_a_local_class_comes_back_as_that_class(ray):
    class Local:
        pass

    @ray.remote
    def echo(value):
        return value

    assert type(ray.get(echo.remote(Local()))) is Local
    assert type(ray.get(ray.put([Local()]))[0]) is Local


@pytest.mark.parametrize(
    "value", [threading.Lock(), (n for n in range(3)), sys._getframe()], ids=["lock", "generator", "frame"])
def test_what_has_no_copy_is_refused(ray, value):
    with pytest.raises(TypeError, match=type(value).__name__.split(".")[-1]):
        ray.put(value)
