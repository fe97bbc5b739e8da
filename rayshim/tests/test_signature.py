"""Arguments are checked as inspect.Signature.bind checks them."""

import functools
import inspect
import pickle

import pytest

from rayshim.calls.signature import Signature


def plain(a, b=1):
    pass


def many(a, *rest, key, **more):
    pass


def positional_only(a, /, b, *, c=1):
    pass


def nothing():
    pass


@functools.wraps(plain)
def decorated(*args, **kwargs):
    return plain(*args, **kwargs)


FUNCTIONS = [plain, many, positional_only, nothing, decorated, functools.partial(plain, b=2), lambda *, k: k]
CALLS = [
    ((1,) * n, dict(kw)) for n in range(4) for kw in ({}, {"a": 1}, {"b": 1}, {"c": 1}, {"key": 1}, {"z": 1}, {"k": 1})
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_check_agrees_with_bind(function):
    signature = Signature(function)
    for args, kwargs in CALLS:
        try:
            inspect.signature(function).bind(*args, **kwargs)
        except TypeError as error:
            with pytest.raises(TypeError) as caught:
                signature.check(args, kwargs)
            told = str(caught.value)
            assert (
                told.startswith(f"{error}: ")
                and f".remote() at {__file__}:" in told
                and f"was given {len(args)} positional argument" in told
            )
        else:
            assert signature.check(args, kwargs) is None


@pytest.mark.parametrize("function", FUNCTIONS)
def test_counts_alone_decide_when_simple(function):
    signature = Signature(function)
    for count in range(5):
        if not signature.simple:
            continue
        by_count = signature.min_args <= count and (signature.max_args < 0 or count <= signature.max_args)
        try:
            signature.check((1,) * count, {})
        except TypeError:
            assert not by_count
        else:
            assert by_count


def test_attributes():
    assert (Signature(plain).min_args, Signature(plain).max_args, Signature(plain).simple) == (1, 2, True)
    found = Signature(many)
    assert (found.min_args, found.max_args, found.has_required_kwonly, found.simple) == (1, -1, True, False)


def test_methods_without_self():
    class Actor:
        def method(self, x):
            pass

        def lacking():
            pass

    Signature(Actor.method, skip_self=True).check((1,), {})
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        Signature(Actor.method, skip_self=True).check((), {})
    with pytest.raises(ValueError, match="Methods must take a 'self' argument"):
        Signature(Actor.lacking, skip_self=True)


def test_constructors():
    class Given:
        def __init__(self, x):
            pass

    class Absent:
        pass

    Signature(Given).check((1,), {})
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        Signature(Given).check((), {})
    Signature(Absent).check((), {})
    with pytest.raises(TypeError, match="too many positional arguments"):
        Signature(Absent).check((1,), {})


def test_a_callable_without_signature_accepts_anything():
    class Opaque:
        __signature__ = "not a signature"

        def __call__(self):
            pass

    signature = Signature(Opaque())
    signature.check((1, 2, 3), {"a": 1})
    assert (signature.min_args, signature.max_args, signature.simple) == (0, -1, True)


def test_a_partial_method_and_a_bound_method():
    Signature(functools.partial(plain, 1)).check((2,), {})
    Signature("".join).check(([],), {})


def test_pickles_without_the_function():
    again = pickle.loads(pickle.dumps(Signature(lambda a, *, b: a)))
    again.check((1,), {"b": 2})
    with pytest.raises(TypeError, match="'b'"):
        again.check((1,), {})
