"""The limit on the values of one generator. (On Ray, the worker of a generator that exceeds it crashes.)"""

import pytest

import rayshim as ray


@ray.remote
def count(n):
    yield from range(n)


@pytest.mark.parametrize("placement", ["isolated", "inline"])
def test_a_generator_gives_as_many_values_as_the_variable_allows(placement, monkeypatch):
    monkeypatch.setenv("RAY_max_num_generator_returns", "2")
    ray.init(num_cpus=1, placement=placement, logging_level="ERROR")
    try:
        assert [ray.get(ref) for ref in count.remote(2)] == [0, 1]
        *values, last = count.remote(3)
        assert [ray.get(ref) for ref in values] == [0, 1]
        with pytest.raises(ValueError, match=r"2 values at most \(RAY_max_num_generator_returns\)"):
            ray.get(last)
    finally:
        ray.shutdown()
