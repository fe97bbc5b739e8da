"""Serial equivalence where actors have several callers: random programs give what their serial run gives, whatever the timing."""

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
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs)
def test_actors_with_several_callers_are_called_in_serial_order(program):
    expected, _ = outcome(program, placement="inline")
    for way in ({"ordering": "strict"}, {"patience": 60.0, "replay_plans": False}, {"placement": "packed", "patience": 60.0}):
        shown, physical = outcome(program, True, **way)
        assert shown == expected, way
        assert not physical, way
