"""The codec: what comes out equals what went in, in value and type, and shares nothing with it."""

import dataclasses
import enum
import math
import pickle
import string

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reactor import _core
from reactor.runtime.driver.driver import Driver

GENERATED = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module", autouse=True)
def run():
    import importlib

    plugin = "reactor.runtime.worker.plugin"
    driver = Driver(cpus=1, resources={"memory": 1}, store_limit=64 << 20, plugin=plugin, settings={}, inline=True)
    driver.start()
    importlib.import_module(plugin).install({}, "inline")
    yield
    driver.stop()


def same(a, b):
    """Equal in value and in type, all the way down; NaN equals NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (float, complex, np.inexact)):
        return repr(a) == repr(b)
    if isinstance(a, np.ndarray):
        if a.dtype != b.dtype and a.dtype.newbyteorder("=") == b.dtype.newbyteorder("="):
            a = a.astype(b.dtype)  # numpy's own pickling may bring a foreign byte order back as native
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        return all(map(same, a.ravel(), b.ravel())) if a.dtype.hasobject else a.tobytes() == b.tobytes()
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(map(same, a.keys(), b.keys())) and all(map(same, a.values(), b.values()))
    return a == b


def is_plain(array):
    """Numbers in native order, which the codec takes itself; others are rebuilt by pickle, and may be writable."""
    return array.dtype.kind in "biufc" and array.dtype.isnative


def check(value):
    read = _core.roundtrip(value)
    assert same(value, read), (value, read)
    return read


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**66), 2**66)
    | st.floats()
    | st.complex_numbers()
    | st.text(st.characters())
    | st.text(st.characters(categories=["Cs", "Lu"]))
    | st.binary()
    | st.binary().map(bytearray)
)
keys = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
keys |= st.tuples(st.integers(), st.text())
numbers = st.sampled_from("?bBhHiIlLqQefdgFDG").map(np.dtype)
dtypes = (
    numbers
    | hnp.datetime64_dtypes()
    | hnp.timedelta64_dtypes()
    | hnp.byte_string_dtypes()
    | hnp.unicode_string_dtypes()
)
dtypes |= hnp.array_dtypes(hnp.scalar_dtypes()) | numbers.map(lambda d: d.newbyteorder("S"))
shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=12)
arrays = hnp.arrays(dtypes, shapes)
values = st.recursive(
    scalars | arrays,
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.lists(inner, max_size=6).map(tuple)
        | st.dictionaries(keys, inner, max_size=6)
        | st.sets(keys, max_size=5)
        | st.frozensets(keys, max_size=5)
    ),
    max_leaves=24,
)


@GENERATED
@given(values)
def test_nested_values(value):
    check(value)


@GENERATED
@given(arrays, st.integers(0, 5))
def test_arrays_in_any_memory_layout(array, how):
    layouts = [
        array,
        np.asfortranarray(array),
        array.T,
        array[..., ::-1] if array.ndim else array,
        array[1:] if array.ndim else array,
        np.broadcast_to(array, (3, *array.shape)),
    ]
    read = check(layouts[how])
    assert read.flags.aligned
    assert not np.shares_memory(read, array)
    if is_plain(array):  # numpy pickles one that is no whole piece of memory as a copy
        pieces = []
        pickle.dumps(layouts[how], protocol=5, buffer_callback=pieces.append)
        assert read.flags.writeable == (not pieces)


@GENERATED
@given(hnp.arrays(numbers, shapes.filter(lambda s: math.prod(s) > 0)).map(lambda a: a.ravel()[0]))
def test_numpy_scalars(value):
    check(value)


@GENERATED
@given(st.dictionaries(st.text(string.ascii_letters, max_size=8), arrays | scalars, max_size=8))
def test_dicts_of_arrays(value):
    for original, read in zip(value.values(), check(value).values()):
        if isinstance(original, np.ndarray) and is_plain(original):
            assert not read.flags.writeable


SIZES = [0, 1, 1023, 1024, 1025, 4095, 4096, 8127, 8193, 32703, 32704, 65535, 65536, 65537, 200001, 1 << 21]


@pytest.mark.parametrize("size", SIZES)
def test_sizes_around_every_limit_of_the_codec_and_the_allocator(size):
    data = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8)
    copy = data.tobytes()
    read = check({"array": data, "bytes": copy, "mutable": bytearray(copy), "two": (data[::2], data.reshape(1, -1))})
    assert not np.shares_memory(read["array"], data)


def test_arrays_of_objects_strings_and_records():
    check(np.array([{"a": 1}, [1, 2], None], dtype=object))
    check(np.array(["a", "bcd", "\u20ac"]))
    check(np.array([(1, 2.0, b"x")] * 400, dtype=[("a", "i4"), ("b", "f8"), ("c", "S3")]))
    check(np.zeros(2000, dtype=[("a", "i4", (3,)), ("b", "u1")]))


def test_subclasses_of_arrays_stay_what_they_are():
    assert type(_core.roundtrip(np.ma.masked_array([1, 2, 3], mask=[0, 1, 0]))) is np.ma.MaskedArray
    assert type(_core.roundtrip(np.zeros(4).view(np.recarray))) is np.recarray


def test_a_view_outlives_its_ref_and_stays_as_it_was():
    read = [_core.roundtrip(np.full(100_000, i)) for i in range(8)]
    for i, array in enumerate(read):
        assert (array == i).all()


def test_an_array_changed_after_the_call_does_not_change_what_was_read():
    array = np.zeros(5000)
    read = _core.roundtrip(array)
    array[:] = 1
    assert (read == 0).all()


# ---- identity


def test_shared_parts_stay_shared():
    part, array = [1], np.zeros(3000)
    a, b = _core.roundtrip({"x": (part,), "y": [([part],)]}).values()
    assert a[0] is b[0][0][0]
    a, b = _core.roundtrip((array, array))
    assert a is b
    a, b = _core.roundtrip((part, part))
    assert a is b
    a, b = _core.roundtrip([[1], [1]])
    assert a is not b


def test_lists_and_dicts_within_lists_and_dicts_are_separate():
    part = {"n": 1}
    for value in ([part, part], [[i] for i in range(5000)] + [part, part], [{1}, part, part]):
        read = _core.roundtrip(value)
        assert read[-1] is not read[-2] and read[-1] == read[-2] == part
    a, b = _core.roundtrip({"x": (part,), "y": [[part]]}).values()
    assert a[0] is not b[0][0]


def test_cycles():
    cyclic = [1]
    cyclic.append(cyclic)
    read = _core.roundtrip(cyclic)
    assert read[1] is read and read[0] == 1
    table = {}
    table["self"] = (table,)
    assert (read := _core.roundtrip(table))["self"][0] is read


def test_deep_and_wide_values():
    deep = []
    for _ in range(100):
        deep = [deep]
    check(deep)
    check(list(range(10_000)))
    check({i: str(i) for i in range(10_000)})
    check(("x" * 100_000, b"y" * 300_000, 1 << 10_000))


def test_large_lists_and_dicts():
    check([{"id": i, "name": f"n{i}", "at": (i, [None, True])} for i in range(6000)])
    check([np.full(i % 9, i, np.float32) for i in range(6000)] + [np.arange(500.0)] * 5)
    check([[[i] * 3] * 3 for i in range(6000)])
    check([[i, str(i), b"x"] for i in range(6000)] + [Point(1.0)])
    deep = [1, {"a": (2,)}]
    for _ in range(12):
        deep = [deep, {"b": [deep]}] if len(str(deep)) < 2000 else [deep]
    check(deep)


def test_what_is_at_two_places_of_a_large_value_stays_one():
    arrays = [np.full(3, i) for i in range(6000)]
    read = _core.roundtrip((arrays, arrays[::-1]))
    assert all(a is b for a, b in zip(read[0], reversed(read[1])))
    parts = [[i] for i in range(100)]
    read = _core.roundtrip((*parts, *parts))
    assert len({id(part) for part in read}) == 100 and read[7] == [7]
    text = "x" * 300
    read = _core.roundtrip([text, *arrays, text])
    assert read[0] == text and read[0] is read[-1]


# ---- classes


@dataclasses.dataclass
class Point:
    x: float
    tag: str = ""


class Colour(enum.Enum):
    RED = 1


class Bits(enum.IntFlag):
    A = 1
    B = 2


class IntChild(int):
    pass


class ListChild(list):
    pass


def test_classes_instances_and_subclasses_of_builtins():
    children = (IntChild(3), ListChild([1, 2]))
    for value in (Point(1.5, "a"), [Point(2.0)], Colour.RED, Bits.A | Bits.B, *children, range(3), slice(1, 2)):
        check(value)
    local = dataclasses.make_dataclass("Local", ["a"])
    assert _core.roundtrip(local(3)).a == 3


def test_functions_and_closures():
    n = 5
    assert _core.roundtrip(lambda x: x + n)(1) == 6


def test_a_function_keeps_the_name_of_its_file():
    def outer():
        return lambda: None

    read = _core.roundtrip(outer)
    assert read is not outer
    assert read.__code__.co_filename == read().__code__.co_filename == __file__


def test_exceptions_keep_arguments_and_attributes():
    error = KeyError("k", 3)
    error.detail = [1]
    read = _core.roundtrip(error)
    assert type(read) is KeyError and read.args == ("k", 3) and read.detail == [1]


def test_what_cannot_be_pickled_is_named_and_leaves_nothing_behind():
    import threading

    _core.roundtrip(1)
    before = _core.stats()
    for _ in range(50):
        with pytest.raises(TypeError, match="lock"):
            _core.roundtrip([np.zeros(100_000), {"inner": threading.Lock()}])
    after = _core.stats()
    assert (after["slab_slots_used"], after["store_used"]) == (before["slab_slots_used"], before["store_used"])
    check([1, 2])


def test_a_value_that_pickles_by_making_calls_itself():
    class Nested:
        def __reduce__(self):
            return tuple, (_core.roundtrip([np.arange(2000), {"a": (1, 2)}]),)

    assert [x for x in _core.roundtrip([Nested(), 7])[0]][1] == {"a": (1, 2)}


# ---- refs inside values


def test_refs_inside_values_hold_their_objects():
    ref = _core.put([1, 2])
    read = _core.roundtrip({"r": ref, "again": [ref]})
    assert read["r"] == ref and _core.get([read["r"]], None) == [[1, 2]]
    outer = _core.put([_core.put(np.arange(3000))])
    assert (_core.get(_core.get([outer], None)[0], None)[0] == np.arange(3000)).all()


def test_memory_comes_back():
    for _ in range(2):
        before = _core.stats()
        for size in (10, 5000, 300_000):
            check([np.zeros(size), {"x": bytearray(size)}, _core.put(size)] and [np.zeros(size), bytearray(size)])
        nested = _core.put([_core.put([_core.put(np.zeros(100_000))])])
        del nested
        after = _core.stats()
    assert (after["slab_slots_used"], after["store_used"]) == (before["slab_slots_used"], before["store_used"])


def test_a_long_chain_of_refs_is_let_go_without_a_crash():
    ref = _core.put(0)
    for _ in range(200_000):
        ref = _core.put([ref])
    del ref
