"""Which parts of a value are one object for its reader, and which arrays the reader may write to."""

import collections

import numpy as np
import pytest

ROW = [0, 0]


def read(ray, value):
    return ray.get(ray.put(value))


def test_a_list_that_is_at_two_places_becomes_two(ray):
    @ray.remote
    def fill(grid):
        grid[0][0] = 1
        return grid

    @ray.remote
    class Filled:
        def __init__(self, grid):
            grid[0][0] = 1
            self.grid = grid

        def get(self):
            return self.grid

    assert ray.get(fill.remote([[0] * 2] * 2)) == [[1, 0], [0, 0]]
    assert ray.get(Filled.remote([ROW, ROW]).get.remote()) == [[1, 0], [0, 0]]


@pytest.mark.parametrize("part", [ROW, {"a": 1}, list(range(5000)), [2**70], [{1}], [None] * 3000], ids=["list", "dict", "long", "large number", "set", "many"])
def test_lists_and_dicts_of_lists_and_dicts_are_separate(ray, part):
    a, b = read(ray, [part, part])
    assert a is not b and a == b == part
    found = read(ray, {"a": part, "b": [part]})
    assert found["a"] is not found["b"][0]


def test_a_dict_that_is_below_two_keys_becomes_two(ray):
    found = list(read(ray, {(1, 2): ROW, 3: ROW}).values())
    assert found[0] is not found[1]


def test_other_objects_stay_one(ray):
    one, array = {1}, np.ones(3)
    for value in ((ROW, ROW), [one, one], [array, array], [np.ones(100_000)] * 2):
        a, b = read(ray, value)
        assert a is b
    a, b = read(ray, [(ROW,), (ROW,)])
    assert a[0] is b[0]


def test_a_list_that_is_in_an_object_and_beside_it_becomes_two(ray):
    held = collections.OrderedDict(a=ROW)
    a, b, row = read(ray, [held, held, ROW])
    assert a is b and a["a"] is not row
    row, a, b = read(ray, [ROW, (ROW,), (ROW,)])
    assert row is not a[0] and a[0] is b[0]


def test_a_list_in_itself_stays_so(ray):
    cycle = [1]
    cycle.append(cycle)
    found = read(ray, cycle)
    assert found[1] is found
    found, a, b = read(ray, [cycle, ROW, ROW])
    assert found[1] is found and a is b  # then all of it is pickled at once


def test_the_writers_lists_stay_as_they_are(ray):
    value = [ROW, ROW, {1}]
    ray.put(value)
    assert value[0] is value[1] is ROW


SMALL, LARGE, CUBE = np.arange(24.0).reshape(4, 6), np.arange(240_000.0).reshape(400, 600), np.arange(24_000.0).reshape(20, 30, 40)
PIECES = {
    "column": SMALL[:, 0], "backwards": SMALL[::-1], "steps": LARGE[::2], "columns": LARGE[:, 5:300], "broadcast": np.broadcast_to(np.ones(3), (4, 3)),
    "numbers": np.arange(12).reshape(3, 4)[:, ::2], "part of exchanged": CUBE[:, :1].transpose(1, 2, 0)[::2],
}
WHOLES = {"rows": SMALL[1:3], "transposed": SMALL.T, "large transposed": LARGE.T, "exchanged": CUBE.transpose(1, 0, 2), "turned": CUBE.transpose(2, 0, 1), "whole": LARGE}
if np.lib.NumpyVersion(np.__version__) < "2.3.0":  # which pickles a copy of these
    WHOLES = {name: array for name, array in WHOLES.items() if name not in ("exchanged", "turned")}


@pytest.mark.parametrize("name", PIECES)
def test_an_array_that_is_no_whole_piece_of_memory_can_be_written_to(ray, name):
    @ray.remote
    def fill(array):
        array[...] = 7
        return array

    found = read(ray, {"a": PIECES[name]})["a"]
    assert found.flags.writeable and found.flags.c_contiguous and np.array_equal(found, PIECES[name])
    assert (ray.get(fill.remote(PIECES[name])) == 7).all()


@pytest.mark.parametrize("name", WHOLES)
def test_any_other_array_is_read_only_and_lies_as_it_did(ray, name):
    found = read(ray, {"a": WHOLES[name]})["a"]
    assert not found.flags.writeable and found.strides == WHOLES[name].strides and np.array_equal(found, WHOLES[name])


def test_an_actor_goes_on_with_the_column_that_it_was_given(ray):
    @ray.remote
    class Stepper:
        def __init__(self, weights):
            self.weights = weights

        def step(self):
            self.weights += 1
            return self.weights.sum()

    stepper = Stepper.remote(np.ones((4, 6))[:, 1])
    assert ray.get([stepper.step.remote() for _ in range(2)]) == [8.0, 12.0]
