"""Several results of one call: what can be divided into them. If one cannot be stored, those before it are there, and those after it fail with it."""

import collections
import threading

import pytest


def returns():
    return 1, threading.Lock(), 3


def yields():
    yield 1
    yield threading.Lock()
    yield 3


def yields_a_generator():
    yield 1
    yield (i for i in range(1))
    yield 3


def returns_generators():
    return 1, (i for i in range(1)), 3


@pytest.mark.parametrize("function", [returns, yields, yields_a_generator, returns_generators], ids=lambda function: function.__name__)
def test_results_after_one_that_cannot_be_stored_fail_with_it(ray, function):
    @ray.remote
    class Actor:
        @ray.method(num_returns=3)
        def call(self):
            return function()

    actor = Actor.remote()
    for first, *others in (ray.remote(num_returns=3)(function).remote(), actor.call.remote()):
        assert ray.get(first) == 1
        for ref in others:
            with pytest.raises(TypeError):
                ray.get(ref)
    assert ray.get(ray.remote(num_returns=2)(lambda: (1, 2)).remote()) == [1, 2]


class Two:
    """Its length is 2, and `items` come from it."""

    def __init__(self, items):
        self.items = items

    def __len__(self):
        return 2

    def __iter__(self):
        return iter(self.items)


class NoLength:
    def __iter__(self):
        return iter((1, 2))


def without_length(kind):
    return {
        "map": lambda: map(abs, (1, 2)),
        "zip": lambda: zip((1, 2), (3, 4)),
        "filter": lambda: filter(None, (1, 2)),
        "enumerate": lambda: enumerate((1, 2)),
        "reversed": lambda: reversed([1, 2]),
        "iterator": lambda: iter((1, 2)),
        "empty": lambda: iter(()),
        "own": NoLength,
        "None": lambda: None,
        "int": lambda: 2,
    }[kind]()


def with_length(kind):
    return {
        "dict": lambda: {1: 3, 2: 4},
        "keys": {1: 3, 2: 4}.keys,
        "values": {3: 1, 4: 2}.values,
        "set": lambda: {1, 2},
        "deque": lambda: collections.deque((1, 2)),
        "range": lambda: range(1, 3),
        "bytes": lambda: bytes((1, 2)),
        "generator": lambda: (i for i in (1, 2)),
        "own": lambda: Two((1, 2)),
    }[kind]()


@pytest.fixture
def giving_two(ray):
    """Calls `function(argument)` with two results: in a task, in a method, in a method of an async actor."""

    @ray.remote
    class Plain:
        @ray.method(num_returns=2)
        def call(self, function, argument):
            return function(argument)

    @ray.remote
    class Async:
        @ray.method(num_returns=2)
        async def call(self, function, argument):
            return function(argument)

    task = ray.remote(num_returns=2)(lambda function, argument: function(argument))
    plain, asyncs = Plain.remote(), Async.remote()
    return task.remote, plain.call.remote, asyncs.call.remote


@pytest.mark.parametrize("kind", ["map", "zip", "filter", "enumerate", "reversed", "iterator", "empty", "own", "None", "int"])
def test_results_without_a_length_cannot_be_divided(ray, giving_two, kind):
    for call in giving_two:
        for ref in call(without_length, kind):
            with pytest.raises(TypeError, match=r"object of type '\w+' has no len\(\)"):
                ray.get(ref)


@pytest.mark.parametrize("kind", ["dict", "keys", "values", "set", "deque", "range", "bytes", "generator", "own"])
def test_whatever_has_a_length_is_divided_as_is_a_generator(ray, giving_two, kind):
    for call in giving_two:
        assert ray.get(call(with_length, kind)) == [1, 2]


@pytest.mark.parametrize("kind", ["map", "iterator"])
def test_one_result_needs_no_length(ray, kind):
    kinds = ray.remote(lambda kind: type(without_length(kind)).__name__)
    assert ray.get(kinds.remote(kind)) in ("map", "tuple_iterator")
