"""The sets that Tune's control loop gets in place of Python's."""

import pickle

from hypothesis import given
from hypothesis import strategies as st

from rayshim.session.repeatable import InsertionOrderSet

items = st.lists(st.integers(-3, 12), max_size=12)
CHANGES = ("add", "discard", "remove", "pop", "update", "clear")
QUESTIONS = ("union", "difference", "intersection", "issubset", "issuperset", "isdisjoint")


@given(items, items)
def test_it_answers_as_a_set(first, second):
    ours, theirs = InsertionOrderSet(first), set(first)
    for name in QUESTIONS:
        assert set_of(getattr(ours, name)(second)) == getattr(theirs, name)(set(second)), name
    other = InsertionOrderSet(second)
    assert [ours | other, ours & other, ours - other, ours ^ other] == [
        theirs | set(second),
        theirs & set(second),
        theirs - set(second),
        theirs ^ set(second),
    ]
    assert (ours <= other, ours < other, ours == theirs, len(ours)) == (
        theirs <= set(second),
        theirs < set(second),
        True,
        len(theirs),
    )


def set_of(value):
    return value if isinstance(value, bool) else set(value)


@given(items, st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(-3, 12))))
def test_it_changes_as_a_set_and_keeps_the_order_of_insertion(first, changes):
    ours, order = InsertionOrderSet(first), list(dict.fromkeys(first))
    for name, value in changes:
        if name in ("add", "update"):
            ours.add(value) if name == "add" else ours.update([value])
            order += [value] * (value not in order)
        elif name == "discard" or (name == "remove" and value in order):
            getattr(ours, name)(value)
            order = [one for one in order if one != value]
        elif name == "pop" and order:
            order.remove(ours.pop())
        elif name == "clear":
            ours.clear()
            order = []
        assert list(ours) == order


def test_it_is_pickled_as_a_set():
    assert type(pickle.loads(pickle.dumps(InsertionOrderSet([2, 1])))) is set
