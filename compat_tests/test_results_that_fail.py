"""Of several results of one call, one cannot be stored: those before it are there, and those after it fail with it."""

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
