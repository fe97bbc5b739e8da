"""Cycles of waits, found in a picture of who waits for whom."""

from reactor import _core
from reactor.waits import cycle

ME, OTHER, THIRD = 2, 3, 4 | 1 << 16


def waiter(actor, *things):
    return _core.Waiter((100 + actor, actor, [_core.Awaited(one) for one in things], 0))


def test_a_call_that_waits_for_itself():
    assert cycle({ME: waiter(7, (1, ME, 7))}, ME) == [(ME, 1)]


def test_two_that_wait_for_each_other_through_calls_that_have_not_begun():
    waits = {ME: waiter(7, (1, OTHER, 8)), OTHER: waiter(8, (2, -1, 7))}
    assert cycle(waits, ME) == [(ME, 1), (OTHER, 2)]
    assert cycle(waits, OTHER) == [(OTHER, 2), (ME, 1)]


def test_the_way_round_is_found_among_others():
    waits = {
        ME: waiter(7, (1, -1, 0), (2, OTHER, 8), (3, THIRD, 9)),
        OTHER: waiter(8, (4, 99, 0)),
        THIRD: waiter(9, (5, OTHER, 8), (6, -1, 7)),
    }
    assert cycle(waits, ME) == [(ME, 3), (THIRD, 6)]
    assert cycle(waits, OTHER) is None


def test_a_cycle_that_one_is_not_in_is_not_its_own():
    waits = {ME: waiter(7, (1, OTHER, 8)), OTHER: waiter(8, (2, THIRD, 9)), THIRD: waiter(9, (3, OTHER, 8))}
    assert cycle(waits, ME) is None


def test_who_does_not_wait_is_in_no_cycle():
    assert cycle({}, ME) is None
    assert cycle({ME: waiter(7)}, ME) is None
    assert cycle({OTHER: waiter(8, (1, ME, 0))}, OTHER) is None
