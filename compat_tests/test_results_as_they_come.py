"""`ray.util.as_completed` and `map_unordered` give results as they come."""

import pytest


@pytest.fixture
def double(ray):
    return ray.remote(lambda x: 2 * x)


@pytest.mark.parametrize("chunk_size", [1, 2, 10])
def test_as_completed_gives_each_value_once(ray, double, chunk_size):
    refs = [double.remote(i) for i in range(5)]
    assert sorted(ray.util.as_completed(refs, chunk_size=chunk_size)) == [0, 2, 4, 6, 8]


def test_as_completed_can_give_refs(ray, double):
    refs = [double.remote(i) for i in range(3)]
    assert set(ray.util.as_completed(refs, yield_obj_refs=True)) == set(refs)


def test_as_completed_of_nothing_is_empty(ray):
    assert list(ray.util.as_completed([])) == []


@pytest.mark.needs_concurrency
def test_a_result_that_takes_long_comes_last(ray, double, gate):
    @ray.remote
    def wait():
        gate.enter()
        return "late"

    results = ray.util.as_completed([wait.remote(), double.remote(1)], chunk_size=1)
    assert next(results) == 2
    gate.open()
    assert list(results) == ["late"]
