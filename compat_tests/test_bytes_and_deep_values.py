"""Values that arrive as another type than they were sent as, and values that are nested deep."""

import pickle
import sys

import pytest


def read(ray, value):
    return ray.get(ray.put(value))


class Frame:
    def __init__(self, data):
        self.data = data


class Packet(bytes):
    pass


class Rows(list):
    pass


@pytest.mark.parametrize("data", [b"", b"abc", b"a" * 300, b"a" * 300_000], ids=["empty", "small", "medium", "large"])
def test_a_bytearray_arrives_as_bytes(ray, data):
    @ray.remote
    class Echo:
        def __init__(self, held):
            self.held = held

        def types(self, one, *, two):
            return type(self.held), type(one), type(two)

    @ray.remote
    def returned():
        return bytearray(data)

    array = bytearray(data)
    for found in (read(ray, array), ray.get(returned.remote())):
        assert type(found) is bytes and found == data
    assert ray.get(Echo.remote(array).types.remote(array, two=array)) == (bytes, bytes, bytes)
    assert type(array) is bytearray


def test_a_bytearray_in_lists_and_dicts_arrives_as_bytes(ray):
    array = bytearray(b"abc")
    assert [type(part) for part in read(ray, [array, array])] == [bytes, bytes]
    assert type(read(ray, {1: {"a": [array]}})[1]["a"][0]) is bytes


def test_a_bytearray_beside_other_objects_arrives_as_bytes(ray):
    frame, data, number = read(ray, [Frame(bytearray(b"a")), bytearray(b"b"), 2**70])
    assert type(frame.data) is bytearray and type(data) is bytes and number == 2**70
    assert type(read(ray, {"data": bytearray(b"b"), "set": {1}})["data"]) is bytes


def test_a_bytearray_in_another_object_stays_one(ray):
    array = bytearray(b"abc")
    for value in ((array,), [(array,)], Rows([array]), ([array],)):
        found = read(ray, value)
        while not isinstance(found, (bytes, bytearray)):
            found = found[0]
        assert type(found) is bytearray


def test_results_of_their_own_are_bytes_each(ray):
    @ray.remote(num_returns=2)
    def two():
        return bytearray(b"a"), [bytearray(b"b")]

    @ray.remote
    def yields():
        yield bytearray(b"a")
        yield {"b": bytearray(b"b")}

    first, second = ray.get(two.remote())
    assert type(first) is bytes and type(second[0]) is bytes
    first, second = [ray.get(ref) for ref in yields.remote()]
    assert type(first) is bytes and type(second["b"]) is bytes


def test_a_subclass_of_bytes_arrives_as_bytes_unless_it_is_part_of_a_value(ray):
    @ray.remote
    def kind(value):
        return type(value).__name__

    assert type(read(ray, Packet(b"a"))) is bytes
    assert ray.get(kind.remote(Packet(b"a"))) == "bytes"
    assert type(read(ray, [Packet(b"a")])[0]) is Packet


def nested(kind, depth):
    value = kind()
    for _ in range(depth):
        value = {0: value} if kind is dict else kind([value])
    return value


def depth_of(value):
    depth = 0
    while value:
        value, depth = value[0], depth + 1
    return depth


@pytest.mark.parametrize("kind", [list, dict, tuple])
@pytest.mark.parametrize("depth", [100, 600, 850])
def test_a_value_nested_deep_arrives_whole(ray, kind, depth):
    if depth > 600 and sys.version_info[:2] == (3, 12):
        pytest.skip("pickle goes no deeper in Python 3.12")

    @ray.remote
    def deeper(value):
        return depth_of(value), value

    found, value = ray.get(deeper.options(num_returns=2).remote(nested(kind, depth)))
    assert found == depth_of(value) == depth


def test_a_value_nested_too_deep_is_an_error_of_pickling(ray):
    @ray.remote
    def kept(value):
        return value

    value = nested(list, 500_000)
    with pytest.raises(pickle.PicklingError, match="deep recursion"):
        ray.put(value)
    with pytest.raises(pickle.PicklingError, match="deep recursion"):
        kept.remote(value)
    assert ray.get(kept.remote(1)) == 1
