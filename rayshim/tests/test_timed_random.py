"""Timed order: random programs give the measured run's result again, in both placements, whatever delays their messages."""

import pytest

from rayshim.tests.timed_programs import Plan, outcome

SEEDS = range(3)
KINDS = ("call", "call", "task", "put", "get", "wait", "poll", "pause", "give", "log")


@pytest.mark.parametrize("seed", SEEDS)
def test_later_runs_give_what_the_measured_one_gave(seed, tmp_path, monkeypatch):
    timing = tmp_path / "timing"
    measured = outcome(Plan(seed, kinds=KINDS), timing)[:2]
    for placement, delays in (("isolated", 0), ("packed", 0), ("isolated", 3000), ("packed", 1000)):
        monkeypatch.setenv("REACTOR_DELAYS", str(delays))
        assert outcome(Plan(seed, kinds=KINDS), timing, placement=placement)[:2] == measured, (placement, delays)


def test_other_values_have_one_result_too_and_the_same_order(tmp_path):
    timing = tmp_path / "timing"
    (_, calls), *_ = outcome(Plan(5, kinds=KINDS), timing)
    one, other = (outcome(Plan(5, constant=7, kinds=KINDS), timing)[0] for _ in range(2))
    assert one == other
    assert one[1] == calls
