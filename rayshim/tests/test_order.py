"""Serial equivalence where actors have several callers: random programs give what their serial run gives, whatever the timing."""

import math

import pytest
from hypothesis import HealthCheck, given, settings

import rayshim
from rayshim.tests.callers import programs, run


def outcome(program, delays=False, **way):
    rayshim.init(num_cpus=4, log_to_driver=False, logging_level="ERROR", **way)
    try:
        return run(rayshim, program, delays), rayshim.report().to_dict()["physical_answers"]
    finally:
        rayshim.shutdown()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "way",
    [
        {"ordering": "strict"},
        {"patience": math.inf, "replay_plans": False},
        {"placement": "packed", "patience": math.inf},
    ],
    ids=str,
)
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs)
def test_actors_with_several_callers_are_called_in_serial_order(way, program):
    expected, _ = outcome(program, placement="inline")
    shown, physical = outcome(program, True, **way)
    assert shown == expected
    assert not physical


def nested(ray, levels):
    """Calls nested so deep, each of which tells a log before and after it makes the next one."""

    @ray.remote
    class Log:
        def __init__(self):
            self.seen = []

        def add(self, what):
            self.seen.append(what)

        def all(self):
            return self.seen

    @ray.remote(num_cpus=0)
    def down(log, level):
        ray.get(log.add.remote(level))
        if level < levels:
            ray.get(down.remote(log, level + 1))
        ray.get(log.add.remote(-level))

    log = Log.remote()
    ray.get(down.remote(log, 1))
    return ray.get(log.all.remote())


@pytest.mark.parametrize("way", [{"ordering": "strict"}, {"placement": "packed"}, {"placement": "inline"}], ids=str)
def test_calls_may_be_nested_deeper_than_a_tag_has_room_for(way):
    seen, physical = [], None
    rayshim.init(num_cpus=2, logging_level="ERROR", **way)
    try:
        seen, physical = nested(rayshim, 60), rayshim.report().to_dict()["physical_answers"]
    finally:
        rayshim.shutdown()
    assert seen == [*range(1, 61), *range(-60, 0)]
    assert not physical
