"""Serial equivalence and invisible replay: random programs give the same in every placement, with and without plans."""

import pytest
from hypothesis import HealthCheck, given, settings

import rayshim
from rayshim.tests.programs import programs, run

WAYS = [
    {"placement": "isolated"},
    {"placement": "isolated", "learn_patterns": False},
    {"placement": "inline", "learn_patterns": False},
    {"placement": "packed"},
]


def outcome(program, **way):
    rayshim.init(num_cpus=2, object_store_memory=256 << 20, log_to_driver=False, **way)
    try:
        return run(rayshim, program)
    finally:
        rayshim.shutdown()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("way", WAYS, ids=str)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs)
def test_a_program_gives_the_same_in_every_way_of_running_it(way, program):
    assert outcome(program, **way) == outcome(program, placement="inline")
