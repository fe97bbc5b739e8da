"""Whatever the timing, the placement and the plans: one digest and one result."""

import math

import pytest

import rayshim
from rayshim.tests.plain import alike
from rayshim.tests.rl_programs import ALL, actor_critic, parameter_server, replay_buffer, tree_of_tasks

WAYS = [{"placement": "inline"}, {"ordering": "strict"}, {"learn_patterns": False}, {"placement": "packed"}]


def outcome(program, **way):
    rayshim.init(num_cpus=4, logging_level="ERROR", **{"patience": math.inf, "digest": "full", **way})
    try:
        return alike(program(rayshim)), rayshim.digest()
    finally:
        rayshim.shutdown()


@pytest.mark.parametrize("program", ALL, ids=lambda p: p.__name__)
def test_each_run_of_a_program_gives_the_same(program, monkeypatch):
    monkeypatch.setenv("REACTOR_DELAYS", "2000")
    expected = outcome(program, placement="inline")
    for way in WAYS:
        assert outcome(program, **way) == expected, way


@pytest.mark.parametrize(
    "program", [parameter_server, actor_critic, tree_of_tasks, replay_buffer], ids=lambda p: p.__name__
)
def test_by_arrival_it_does_not(program, monkeypatch):
    """The control: without order the delays do show."""
    monkeypatch.setenv("REACTOR_DELAYS", "5000")
    assert len({outcome(program, ordering="arrival")[1] for _ in range(5)}) > 1
