"""The error for a value that cannot be pickled names the part that is to blame, where it is, and what it was for."""

import functools
import re
import sys
import threading

import cloudpickle
import pytest

import rayshim as ray

LOCK = threading.Lock()


class Holder:
    def __init__(self):
        self.held = {"lock": LOCK}


class Guarded:
    guard = LOCK


class Inherits(Guarded):
    def innocent(self):
        return super().__repr__()


class Cell:
    def __init__(self):
        self.inside = LOCK

    def __get__(self, instance, owner):
        return self if instance is None else 1


class Described:
    attribute = Cell()


class InheritsDescribed(Described):
    def innocent(self):
        return super().__repr__()


class Uses:
    def innocent(self):
        return super().__repr__()

    def guilty(self):
        return LOCK


def uses():
    return LOCK


def has_default(lock=LOCK):
    return lock


def outer():
    captured = threading.Lock()
    return lambda: captured


@ray.remote
def take(*values, **named):
    return 1


@pytest.fixture(autouse=True)
def session():
    """Classes of this module are pickled by value, as those of a script."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    ray.init(num_cpus=1, logging_level="ERROR")
    yield
    ray.shutdown()
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


CASES = {
    "itself": (LOCK, r"<\S+ _thread.lock object at \S+ \(a _thread.lock\)"),
    "item": ([1, {"a": LOCK}], r"at value\[1\]\['a'\]"),
    "attribute": (Holder(), r"at value\.held\['lock'\]"),
    "bound method": (Holder().__init__, r"at value\.__self__\.held\['lock'\]"),
    "global": (uses, "at LOCK, where LOCK is a global variable that uses uses,"),
    "captured": (
        outer(),
        "at captured, where captured is a variable of an outer function that outer.<locals>.<lambda> uses,",
    ),
    "default": (has_default, "at a default value of has_default"),
    "of the class": (Guarded(), r"at Guarded\.guard"),
    "inherited": (Inherits(), r"at Guarded\.guard"),
    "inside an inherited": (
        InheritsDescribed(),
        r"at Described\.attribute\.inside, where Described\.attribute is a \S+\.Cell,",
    ),
    "by a method": (Uses, "at LOCK, where LOCK is a global variable that Uses.guilty uses,"),
    "partial": (functools.partial(max, LOCK), "at a part of the functools.partial"),
    "partial of a function": (functools.partial(uses), "at LOCK, where LOCK is a global variable that uses uses,"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_part_to_blame_is_named_first(case):
    value, place = CASES[case]
    for call, what in ((take.remote, "the argument .*test_unpicklable.take"), (ray.put, "the put value .*")):
        with pytest.raises(TypeError) as caught:
            call(value)
        head, rule, sentence, *rest = str(caught.value).splitlines()
        assert re.fullmatch(f"Could not serialize {what}:", head) and rule == "=" * 80 == rest[-1]
        assert re.search(f"{place}.* cannot be pickled: cannot pickle '_thread.lock' object", sentence), sentence
        assert re.search(rf"\(\S*( at|at) {re.escape(__file__)}:\d+\)$", sentence), sentence
        assert "was found to be non-serializable" in str(caught.value)


def test_nothing_of_the_inside_is_shown():
    @ray.remote
    class Actor:
        def method(self):
            return LOCK

    for call in (ray.remote(uses).remote, Actor.remote, lambda: take.remote(Holder()), lambda: ray.put([LOCK])):
        with pytest.raises(TypeError) as caught:
            call()
        text = str(caught.value)
        for inside in ("Announced", "value[1]", "<global", "<closure", "\x1b", "Ray developers", "innocent"):
            assert inside not in text, text


def test_the_repr_of_a_large_value_is_cut():
    with pytest.raises(TypeError) as caught:
        take.remote([*range(100_000), LOCK])
    assert len(str(caught.value)) < 1000 and "[0, 1, 2" in str(caught.value)
