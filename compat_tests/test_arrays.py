import numpy as np
import pytest

from compat_tests.dying import death

ARRAYS = {
    "float32": np.linspace(0, 1, 7, dtype=np.float32),
    "bool": np.array([True, False]),
    "complex": np.array([1 + 2j]),
    "float16": np.ones(3, np.float16),
    "big endian": np.arange(5, dtype=">i4"),
    "zero dimensions": np.array(3.5),
    "empty": np.empty((0, 3), np.int16),
    "fortran": np.asfortranarray(np.arange(12).reshape(3, 4)),
    "strided": np.arange(20)[::3],
    "reversed": np.arange(6)[::-1],
    "transposed": np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1),
    "broadcast": np.broadcast_to(np.arange(3), (4, 3)),
    "structured": np.array([(1, 2.5, b"ab")], dtype=[("a", "i4"), ("b", "f8"), ("c", "S2")]),
    "object": np.array([{"a": 1}, None, [2]], dtype=object),
    "text": np.array(["one", "three"]),
    "datetime": np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"),
    "timedelta": np.array([1, 2], dtype="timedelta64[ms]"),
    "masked": np.ma.array([1, 2, 3], mask=[0, 1, 0]),
    "big": np.arange(300_000, dtype=np.float64).reshape(300, 1000),
    "big strided": np.arange(400_000)[::2],
    "big fortran": np.asfortranarray(np.arange(250_000).reshape(500, 500)),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_an_array_arrives_with_values_dtype_and_shape(ray, name):
    @ray.remote
    def echo(array):
        return array

    sent = ARRAYS[name]
    for arrived in ray.get([ray.put(sent), echo.remote(sent), echo.remote(ray.put(sent))]):
        assert type(arrived) is type(sent)
        assert (arrived.dtype, arrived.shape) == (sent.dtype, sent.shape)
        np.testing.assert_array_equal(arrived, sent)


def test_a_fortran_array_stays_fortran(ray):
    arrived = ray.get(ray.put(ARRAYS["big fortran"]))
    assert arrived.flags.f_contiguous and not arrived.flags.c_contiguous


SCALARS = [np.float32(1.5), np.int64(-3), np.bool_(True), np.datetime64("2020-01-01"), np.str_("s")]


@pytest.mark.parametrize("scalar", SCALARS)
def test_a_numpy_scalar_keeps_its_type(ray, scalar):
    arrived = ray.get(ray.put(scalar))
    assert type(arrived) is type(scalar) and arrived == scalar


def test_arrays_inside_containers_arrive(ray):
    @ray.remote
    def echo(value):
        return value

    sent = {"obs": np.arange(4, dtype=np.float32), "batch": [(np.zeros(200_000), 1.0, False)] * 2}
    arrived = ray.get(echo.remote(sent))
    np.testing.assert_array_equal(arrived["obs"], sent["obs"])
    assert [(len(a), b, c) for a, b, c in arrived["batch"]] == [(200_000, 1.0, False)] * 2


def test_an_array_changed_after_the_call_was_sent_as_it_was(ray):
    @ray.remote
    class Keep:
        def keep(self, array):
            self.array = array

        def total(self):
            return float(self.array.sum())

    keep = Keep.remote()
    for length in (4, 300_000):
        array = np.ones(length)
        keep.keep.remote(array)
        array[:] = 2
        assert ray.get(keep.total.remote()) == length


def test_an_array_changed_after_it_was_returned_is_read_as_it_was(ray):
    @ray.remote
    class Owner:
        def __init__(self, length):
            self.array = np.zeros(length)

        def step(self):
            self.array += 1
            return self.array

    for length in (4, 300_000):
        owner = Owner.remote(length)
        arrays = ray.get([owner.step.remote() for _ in range(4)])
        assert [array[0] for array in arrays] == [1, 2, 3, 4]


def test_arrays_stay_valid_after_their_maker_is_gone(ray):
    @ray.remote
    class Maker:
        def make(self, value):
            return np.full(500_000, value)

    maker = Maker.remote()
    gotten, ungotten = ray.get(maker.make.remote(1)), maker.make.remote(2)
    ray.wait([ungotten])
    ray.kill(maker)
    death(ray, lambda: maker.make.remote(3))
    assert (gotten == 1).all()
    assert (ray.get(ungotten) == 2).all()


def test_many_arrays_held_at_once_are_all_right(ray):
    @ray.remote
    def make(value):
        return np.full(100_000, value)

    arrays = ray.get([make.remote(i) for i in range(50)])
    assert all((array == i).all() for i, array in enumerate(arrays))


@pytest.mark.parametrize("length", [8, 300_000])
def test_large_texts_and_bytes_arrive(ray, length):
    @ray.remote
    def echo(*values):
        return values

    values = ("é" * length, b"\0" * length, list(range(length)))
    assert ray.get(echo.remote(*values)) == values


def test_many_times_the_stores_size_passes_through_it(ray):
    size = 20 << 20

    @ray.remote
    def make(value):
        return np.full(size, value, np.uint8)

    @ray.remote
    def first(array):
        return int(array[0])

    assert [ray.get(first.remote(make.remote(i))) for i in range(20)] == list(range(20))
    assert [int(ray.get(ray.put(np.full(size, i, np.uint8)))[0]) for i in range(20)] == list(range(20))


@pytest.mark.parametrize("size", [0, 1, 100, 1000, 100_000])
def test_an_array_of_the_store_cannot_be_made_writable(ray, size):
    def tried(array):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)
        with pytest.raises(ValueError):
            array.resize(3)
        return array.flags.owndata, array.flags.aligned, array.copy().flags.writeable

    @ray.remote
    class Gives:
        def array(self):
            return np.zeros(size)

        def tries(self, array):
            return tried(array)

    actor = Gives.remote()
    for ref in (ray.put(np.zeros(size)), ray.remote(lambda: np.zeros(size)).remote(), actor.array.remote(), actor.array.remote()):
        assert tried(ray.get(ref)) == (False, True, True)
        assert np.array_equal(ray.get(ref), np.zeros(size))
    assert tried(ray.get(ray.put([np.zeros(size)]))[0]) == (False, True, True)
    for given in (np.zeros(size), np.zeros(size), ray.put(np.zeros(size))):
        assert ray.get(actor.tries.remote(given)) == (False, True, True)
    assert ray.get(ray.remote(tried).remote(np.zeros(size))) == (False, True, True)
