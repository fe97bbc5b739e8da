"""Numbered devices: no device is assigned beyond its whole, and what is given back can be assigned again."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from reactor.runtime.resources.devices import Devices

COUNT = 3
AMOUNTS = st.sampled_from([0.1, 0.25, 0.3, 0.5, 0.7, 1, 2, 3])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("take"), AMOUNTS, st.sampled_from([None, -1, 0, 1])),
        st.tuples(st.just("give"), st.integers(0, 20), st.none()),
        st.tuples(st.just("reserve"), st.tuples(AMOUNTS, AMOUNTS), st.none()),
        st.tuples(st.just("release"), st.none(), st.none()),
    ),
    max_size=40,
)


@given(STEPS)
def test_shares_add_up_to_one_at_most_and_a_part_assigns_only_what_it_has(steps):
    devices = Devices(lambda kind: COUNT)
    held, reserved, number = {}, None, 0  # holder -> (the part or None, what it has)
    for what, value, part in steps:
        if what == "take":
            within = None if part is None else ("r", part)
            found = devices.take(number, {"d": value}, within)
            if found is not None:
                assert abs(sum(share for _, share in found["d"]) - value) < 1e-9
                held[number] = part, found["d"]
            elif part is None and not held and reserved is None:
                raise AssertionError(f"{value} of {COUNT} free devices were refused")
            number += 1
        elif what == "give":
            held.pop(value, None)
            devices.give(value)
        elif what == "reserve" and reserved is None:
            reserved = value if devices.reserve("r", [{"d": amount} for amount in value]) else None
        elif what == "release":
            for holder in [h for h, (of, _) in held.items() if of is not None]:  # what runs inside ends first
                devices.give(holder)
                del held[holder]
            devices.release("r")
            reserved = None
        _check(held, reserved)
    for holder in held:
        devices.give(holder)
    devices.release("r")
    assert devices.take("all", {"d": COUNT}) == {"d": [(n, 1.0) for n in range(COUNT)]}


def _check(held, reserved):
    whole, inside = Counter(), 0.0
    for part, shares in held.values():
        for number, share in shares:
            whole[number] += share
            inside += share if part is not None else 0
    assert all(share < 1 + 1e-9 for share in whole.values())
    assert inside <= sum(reserved or ()) + 1e-9


def test_all_kinds_of_a_request_or_none():
    devices = Devices(lambda kind: 1)
    assert devices.take("a", {"d": 1}) == {"d": [(0, 1.0)]}
    assert devices.take("b", {"e": 1, "d": 0.5}) is None
    assert devices.take("c", {"e": 1}) == {"e": [(0, 1.0)]}
