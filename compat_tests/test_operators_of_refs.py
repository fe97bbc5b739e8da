"""Operators of refs, and methods looked up on an actor class: errors, as on Ray, where rayshim's say what to do."""

import inspect
import operator
import types

import pytest


@pytest.mark.parametrize(
    "operate",
    [
        operator.add,
        operator.sub,
        operator.mul,
        operator.truediv,
        operator.mod,
        operator.pow,
        operator.matmul,
        operator.and_,
        divmod,
    ],
)
def test_a_ref_has_no_operators(ray, operate):
    ref = ray.put(2)
    for left, right in ((ref, 1), (1, ref), (ref, ref)):
        with pytest.raises(TypeError, match="unsupported operand type"):
            operate(left, right)
    with pytest.raises(TypeError, match="bad operand type"):
        -ref
    with pytest.raises(TypeError):
        sum([ref, ref])


def test_an_operand_may_define_the_reflected_operator(ray):
    class Pair:
        def __radd__(self, other):
            return other, "radd"

        def __add__(self, other):
            return other, "add"

    ref = ray.put(2)
    assert ref + Pair() == (ref, "radd")
    assert Pair() + ref == (ref, "add")


def test_a_method_of_the_class_is_a_bound_method_without_remote(ray):
    @ray.remote
    class Actor:
        def method(self):
            """Says one."""
            return 1

    method = Actor.method
    assert method() == 1
    assert isinstance(method, types.MethodType) and inspect.ismethod(method)
    assert (method.__name__, method.__doc__) == ("method", "Says one.")
    assert method == Actor.method and hash(method) == hash(Actor.method)
    assert not hasattr(method, "remote") and not hasattr(method, "bind")
    with pytest.raises(AttributeError, match="'function' object has no attribute 'remote'"):
        method.remote()
