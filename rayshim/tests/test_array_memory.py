"""Arrays that a worker makes in the store in the first place: seen by their addresses, and by nothing else."""

import contextlib
import ctypes
import os
import time
import weakref

import numpy as np
import pytest
from reactor import _core
from reactor.tests.calling import wait_until

import rayshim as ray
from rayshim.placement.packed import packed
from rayshim.tests.stores import Plain, used

SIZE = 100_000  # float64
made_there = pytest.mark.skipif(
    _core.memory_page() > 4096, reason="arrays are made in the store where memory pages have 4 KiB"
)


@pytest.fixture(params=["isolated", "packed"])
def running(request):
    ray.init(placement=packed(1) if request.param == "packed" else "isolated", num_cpus=4, log_to_driver=False)
    yield
    ray.shutdown()


def in_store(array):
    """Whether the array's memory is that of the shared heap."""
    at = array.__array_interface__["data"][0]
    with open("/proc/self/maps") as maps:
        for line in maps:
            begin, end = (int(part, 16) for part in line.split()[0].split("-"))
            if begin <= at < end:
                return "/memfd:reactor" in line
    raise AssertionError("an array that is nowhere")


@ray.remote
class Maker:
    def __init__(self):
        self.kept = None
        self.seen = None

    def make(self, value, size=SIZE):
        array = np.full(size, float(value))
        self.seen = in_store(array)
        return array

    def was_in_store(self):
        return self.seen

    def keep(self, value, how):
        array = np.full(SIZE, float(value))
        self.kept = {
            "array": array,
            "view": array[10:20],
            "memoryview": memoryview(array),
            "list": [array],
            "weak": array,
        }[how]
        if how == "weak":
            self.kept = weakref.ref(array)
        return self.kept if how == "list" else array

    @ray.method(num_returns=2)
    def keep_both(self, value):
        self.kept = [np.full(SIZE, float(value)), np.full(SIZE, float(value))]
        return self.kept

    def beside_an_object(self, value):
        return np.full(SIZE, float(value)), Plain(np.full(SIZE, value + 1.0))

    def overwrite(self, value, how):
        if how == "list":
            self.kept[0][:] = value
        elif how == "weak":
            assert self.kept() is None
        else:
            np.asarray(self.kept)[:] = value

    def shaped(self, value, how):
        array = np.full(SIZE, float(value))
        if how == "matrix":
            return array.reshape(-1, 10)
        if how == "transposed":
            return array.reshape(-1, 10).T
        if how == "strided":
            return array.reshape(-1, 10)[:, ::2]
        if how == "part":
            return array[SIZE // 4 :]
        if how == "little":
            return array[:10]
        if how == "in a tuple":
            return ("text", array, {"n": 1})
        if how == "beside another":
            return array, array + 1
        if how == "resized":
            array.resize(2 * SIZE)
            return array
        if how == "strided beside a set":
            return array.reshape(-1, 10)[:, ::2], {"n"}
        if how == "zeros":
            return np.zeros(SIZE)
        raise ValueError(how)

    def fork(self, value):
        """What a child and its parent see after the child, and then the parent, have written to an array of the parent's."""
        array = np.full(SIZE, float(value))
        assert in_store(array)
        ready, wrote = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.read(ready[0], 1)
                before = array[0] == value and array[-1] == value
                array[:] = -1.0
                more = np.full(SIZE, 7.0)
                good = before and not in_store(more) and array[5] == -1.0
                del array
                os.write(wrote[1], b"y" if good else b"n")
            finally:
                os._exit(0)
        array[0] = value + 1
        os.write(ready[1], b"x")
        answer = os.read(wrote[0], 1)
        os.waitpid(child, 0)
        for fd in (*ready, *wrote):
            os.close(fd)
        return answer == b"y", array


def ready_maker():
    """An actor that has returned an array of that size before."""
    maker = Maker.remote()
    ray.get(maker.make.remote(0))
    return maker


@made_there
def test_the_second_array_of_a_size_is_made_in_the_store(running):
    maker = Maker.remote()
    first = ray.get(maker.make.remote(1))
    assert not ray.get(maker.was_in_store.remote())
    second = ray.get(maker.make.remote(2))
    assert ray.get(maker.was_in_store.remote())
    other = ray.get(maker.make.remote(3, SIZE + 1))
    assert not ray.get(maker.was_in_store.remote())
    for value, array in ((1, first), (2, second), (3, other)):
        assert (array == value).all() and not array.flags.writeable


@pytest.mark.parametrize("how", ["array", "view", "memoryview", "list", "weak"])
def test_what_the_actor_has_kept_is_its_own(running, how):
    maker = ready_maker()
    for value in (1, 2, 3):
        ref = maker.keep.remote(value, how)
        result = ray.get(ref)
        ray.get(maker.overwrite.remote(-1, how))
        assert (np.asarray(result[0] if how == "list" else result) == value).all()
        again = ray.get(ref)
        assert (np.asarray(again[0] if how == "list" else again) == value).all()


def test_what_the_actor_has_kept_of_several_results_is_its_own(running):
    maker = ready_maker()
    for value in (1, 2, 3):
        both = ray.get(maker.keep_both.remote(value))
        ray.get(maker.overwrite.remote(-1, "list"))
        assert all((one == value).all() for one in both)


def test_an_array_beside_an_object_that_is_pickled(running):
    maker = ready_maker()
    kept = [ray.get(maker.beside_an_object.remote(value)) for value in (1, 2, 3)]
    for value, (array, plain) in zip((1, 2, 3), kept, strict=True):
        assert (array == value).all() and (plain.array == value + 1).all()


@pytest.mark.parametrize(
    "how",
    [
        "matrix",
        "transposed",
        "strided",
        "part",
        "little",
        "in a tuple",
        "beside another",
        "resized",
        "strided beside a set",
        "zeros",
    ],
)
def test_results_of_every_shape_are_what_the_method_returned(running, how):
    maker = ready_maker()
    kept = []
    for value in (1, 2, 3):
        kept.append(ray.get(maker.shaped.remote(value, how)))
        ray.get(maker.make.remote(9))
    for value, found in zip((1, 2, 3), kept, strict=True):
        full = np.full(SIZE, float(value))
        if how == "in a tuple":
            assert found[0] == "text" and found[2] == {"n": 1}
            assert np.array_equal(found[1], full)
        elif how == "strided beside a set":
            assert np.array_equal(found[0], full.reshape(-1, 10)[:, ::2]) and found[1] == {"n"}
        elif how == "beside another":
            assert np.array_equal(found[0], full) and np.array_equal(found[1], full + 1)
        else:
            expected = {
                "matrix": full.reshape(-1, 10),
                "transposed": full.reshape(-1, 10).T,
                "strided": full.reshape(-1, 10)[:, ::2],
                "part": full[SIZE // 4 :],
                "little": full[:10],
                "resized": np.concatenate([full, np.zeros(SIZE)]),
                "zeros": np.zeros(SIZE),
            }[how]
            assert np.array_equal(found, expected)


def test_results_outlive_their_actor(running):
    maker = ready_maker()
    refs = [maker.make.remote(value) for value in range(5)]
    found = ray.get(refs)
    ray.kill(maker)
    assert all((array == value).all() for value, array in enumerate(found))
    del refs
    assert all((array == value).all() for value, array in enumerate(found))


@made_there
def test_a_child_of_the_actor_has_arrays_of_its_own(running):
    maker = ready_maker()
    for value in (1, 2, 3):
        good, array = ray.get(maker.fork.remote(value))
        assert good
        assert array[0] == value + 1 and (array[1:] == value).all()


def test_the_store_is_not_filled_by_what_the_actor_has_let_go_of():
    with ray.init(num_cpus=2, object_store_memory=80 << 20, log_to_driver=False):
        maker = ready_maker()
        for value in range(200):
            assert ray.get(maker.make.remote(value, 1 << 20))[0] == value  # 8 MiB each


# ---- arguments


@ray.remote
class Taker:
    def wait_for(self, path):
        while not os.path.exists(path):
            time.sleep(0.005)

    def total(self, array):
        return float(array.sum())

    def hold(self, array):
        self.held = array

    def be(self, number):
        self.number = number

    def hold_own(self, array):
        """What was given, and whether it lies in the store; fills it with the actor's number, past its flag."""
        first, shared = float(array[0]), in_store(array)
        there = np.ctypeslib.as_array((ctypes.c_double * array.size).from_address(array.ctypes.data))
        there[:] = self.number
        self.held = array
        return first, shared

    def held_total(self):
        return float(self.held.sum())

    def write_past_numpy(self, array, byte):
        """As torch.from_numpy allows: what arrives is read-only, but its memory is the caller's own."""
        ctypes.memset(array.ctypes.data, byte, array.nbytes)
        self.held = array
        return int(array.view("u1").sum())

    def pass_on(self, taker, value):
        taker.total.remote(np.full(SIZE, value))


# 16 views of one value and the last argument; ThreadSanitizer leaves less room for mappings of the heap.
LEAST_VIEWS = 8 if "libtsan" in os.environ.get("LD_PRELOAD", "") else 15


@contextlib.contextmanager
def held_back(takers, directory):
    """What is sent to the takers inside is read when all is sent: one that read its arguments before the next call would have them to itself."""
    path = directory / str(time.monotonic_ns())
    waits = [taker.wait_for.remote(str(path)) for taker in takers]
    yield
    path.touch()
    ray.get(waits)


def test_an_array_given_to_several_by_value_is_stored_once(running, tmp_path):
    takers = [Taker.remote() for _ in range(4)]
    array = np.full(SIZE, 2.0)
    before = used()
    with held_back(takers, tmp_path):
        held = [taker.hold.remote(array) for taker in takers]
    ray.get(held)
    assert array.nbytes <= used() - before < 2 * array.nbytes
    array[:] = 5.0
    assert ray.get([taker.held_total.remote() for taker in takers]) == [2.0 * SIZE] * 4
    ray.get([taker.hold.remote(None) for taker in takers])
    assert used() - before < array.nbytes


def test_a_change_between_two_calls_is_seen_by_the_second_alone(running):
    takers = [Taker.remote() for _ in range(4)]
    array = np.zeros(SIZE)
    refs = []
    for at in (0, SIZE // 2, SIZE - 1, 0):
        refs += [taker.total.remote(array) for taker in takers]
        array[at] += 1.0
    assert ray.get(refs) == [float(n) for n in range(4) for _ in takers]


def test_what_is_given_by_value_is_each_calls_own(running):
    takers = [Taker.remote() for _ in range(3)]
    size = 16 * SIZE
    array = np.ones(size, "u1")
    for _ in range(4):
        assert ray.get([taker.write_past_numpy.remote(array, n) for n, taker in enumerate(takers)]) == [
            0,
            size,
            2 * size,
        ]
        assert ray.get([takers[0].total.remote(array) for _ in range(3)]) == [size] * 3
    assert ray.get([taker.held_total.remote() for taker in takers]) == [0, size, 2 * size]


def test_actors_that_share_a_process_each_have_what_was_given_to_all(tmp_path):
    """More of them than there are copy-on-write views of one value."""
    with ray.init(placement=packed(1), num_cpus=2, log_to_driver=False):
        takers = [Taker.remote() for _ in range(20)]
        ray.get([taker.be.remote(float(n)) for n, taker in enumerate(takers)])
        array = np.ones(SIZE)
        for number in range(3):
            array[:] = float(number)
            assert (
                ray.get([taker.total.remote(array) for taker in takers[:2]]) == [SIZE * float(number)] * 2
            )  # given to several from the start
            before = used()
            with held_back(takers[:1], tmp_path):  # and so all of them
                refs = [taker.hold_own.remote(array) for taker in takers]
            found = ray.get(refs)
            assert used() - before < 2 * array.nbytes
            assert [first for first, _ in found] == [float(number)] * 20
            assert LEAST_VIEWS <= sum(shared for _, shared in found) <= 17
            assert ray.get([taker.held_total.remote() for taker in takers]) == [SIZE * float(n) for n in range(20)]
            ray.get([taker.hold.remote(None) for taker in takers])


def test_the_last_arguments_are_let_go_of_with_the_next_wait(running):
    taker = Taker.remote()
    before = used()
    assert ray.get(taker.total.remote(np.ones(SIZE))) == SIZE
    ray.get(taker.hold.remote(None))
    assert used() - before < 8 * SIZE


def test_the_last_arguments_of_a_call_end_with_it(running):
    taker, other = Taker.remote(), Taker.remote()
    before = used()
    ray.get(other.pass_on.remote(taker, 1.0))
    ray.get(taker.hold.remote(None))
    wait_until(
        lambda: used() - before < 8 * SIZE, 10
    )  # they go when the call is over, which is after its result is there


def test_the_last_arguments_make_room_for_others():
    with ray.init(
        num_cpus=2,
        object_store_memory=100 << 20,
        log_to_driver=False,
        _system_config={"automatic_object_spilling_enabled": False},
    ):
        taker = Taker.remote()
        taker.total.remote(np.ones(60 << 17))
        ref = ray.put(np.ones(60 << 17))
        assert ray.get(ref)[0] == 1.0
