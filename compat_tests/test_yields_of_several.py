"""Generators with `_num_objects_per_yield`, and the ref that a future keeps."""

import gc

import pytest


@pytest.fixture
def pairs(ray):
    """A remote generator that yields what it is given, and takes each for two objects."""

    @ray.remote(_num_objects_per_yield=2)
    def pairs(*values):
        for value in values:  # noqa: UP028 - Ray sends to it
            yield value

    return pairs


@pytest.mark.parametrize("value", [1, None, "ab", {1: 2, 3: 4}, {5, 6}, range(2)], ids=repr)
def test_a_yield_of_several_is_a_tuple_or_a_list(ray, pairs, value):
    with pytest.raises(ValueError, match="with _num_objects_per_yield=2 must yield a tuple or list of length 2"):
        ray.get(list(pairs.remote(value)))


@pytest.mark.parametrize("value", [(), (1,), [1, 2, 3]], ids=repr)
def test_a_yield_of_several_has_their_number(ray, pairs, value):
    with pytest.raises(ValueError, match=f"yielded {len(value)} objects, but _num_objects_per_yield=2"):
        ray.get(list(pairs.remote(value)))


def test_what_was_yielded_before_a_wrong_yield_is_there(ray, pairs):
    stream = pairs.remote((1, 2), 3)
    assert [ray.get(next(stream)), ray.get(next(stream))] == [1, 2]
    with pytest.raises(ValueError, match="must yield a tuple or list"):
        ray.get(next(stream))
    with pytest.raises(StopIteration):
        next(stream)


def test_a_future_keeps_its_ref(ray):
    ref = ray.put([1])
    future = ref.future()
    assert future.object_ref == ref
    del ref
    gc.collect()
    assert ray.get(future.object_ref) == future.result() == [1]
