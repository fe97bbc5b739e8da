"""What a refused timeout says."""

import math

import pytest

import rayshim


@pytest.fixture
def done():
    rayshim.init(num_cpus=1, placement="inline", logging_level="ERROR")
    yield rayshim.put(1)
    rayshim.shutdown()


@pytest.mark.parametrize(
    "timeout, in_get, in_wait, what",
    [
        (math.nan, ValueError, ValueError, "Give None to wait without limit"),
        (math.inf, OverflowError, OverflowError, "Give None to wait without limit"),
        ("1", OverflowError, TypeError, "must be a number of seconds or None, not str"),
    ],
)
def test_the_call_its_place_and_what_to_do(done, timeout, in_get, in_wait, what):
    with pytest.raises(in_get, match=rf"^get\(timeout={timeout!r}\) at .*test_timeouts.py:\d+: .*{what}"):
        rayshim.get(done, timeout=timeout)
    with pytest.raises(in_wait, match=rf"^wait\(timeout={timeout!r}\) at .*test_timeouts.py:\d+: .*{what}"):
        rayshim.wait([done], timeout=timeout)
