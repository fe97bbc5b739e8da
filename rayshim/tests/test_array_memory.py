"""Arrays that a worker makes in the store in the first place: seen by their addresses, and by nothing else."""

import ctypes
import os
import time
import weakref

import numpy as np
import pytest

import rayshim as ray
from rayshim.packing import packed
from rayshim.tests.runs import outcome

pytestmark = pytest.mark.timeout(60)
SIZE = 100_000  # float64


@pytest.fixture(params=["isolated", "packed"])
def running(request):
    ray.init(placement=packed(1) if request.param == "packed" else "isolated", num_cpus=4, log_to_driver=False)
    yield request.param
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


class Plain:
    def __init__(self, array):
        self.array = array


@ray.remote
class Maker:
    def __init__(self):
        self.kept = None
        self.seen = None

    def make(self, value, size=SIZE):
        made = np.full(size, float(value))
        self.seen = in_store(made)
        return made

    def was_in_store(self):
        return self.seen

    def keep(self, value, how):
        made = np.full(SIZE, float(value))
        self.kept = {"array": made, "view": made[10:20], "memoryview": memoryview(made), "list": [made], "weak": made}[how]
        if how == "weak":
            self.kept = weakref.ref(made)
        return self.kept if how == "list" else made

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
        made = np.full(SIZE, float(value))
        if how == "matrix":
            return made.reshape(-1, 10)
        if how == "transposed":
            return made.reshape(-1, 10).T
        if how == "strided":
            return made.reshape(-1, 10)[:, ::2]
        if how == "part":
            return made[SIZE // 4 :]
        if how == "little":
            return made[:10]
        if how == "in a tuple":
            return ("text", made, {"n": 1})
        if how == "beside another":
            return made, made + 1
        if how == "resized":
            made.resize(2 * SIZE)
            return made
        if how == "strided beside a set":
            return made.reshape(-1, 10)[:, ::2], {"n"}
        if how == "zeros":
            return np.zeros(SIZE)
        raise ValueError(how)

    def fork(self, value):
        """What a child and its parent see after the child, and then the parent, have written to an array of the parent's."""
        made = np.full(SIZE, float(value))
        assert in_store(made)
        ready, wrote = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.read(ready[0], 1)
                before = made[0] == value and made[-1] == value
                made[:] = -1.0
                more = np.full(SIZE, 7.0)
                good = before and not in_store(more) and made[5] == -1.0
                del made
                os.write(wrote[1], b"y" if good else b"n")
            finally:
                os._exit(0)
        made[0] = value + 1
        os.write(ready[1], b"x")
        answer = os.read(wrote[0], 1)
        os.waitpid(child, 0)
        for fd in (*ready, *wrote):
            os.close(fd)
        return answer == b"y", made


def ready_maker():
    """An actor that has returned an array of that size before."""
    maker = Maker.remote()
    ray.get(maker.make.remote(0))
    return maker


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
    "how", ["matrix", "transposed", "strided", "part", "little", "in a tuple", "beside another", "resized",
            "strided beside a set", "zeros"]
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


def test_a_child_of_the_actor_has_arrays_of_its_own(running):
    maker = ready_maker()
    for value in (1, 2, 3):
        good, made = ray.get(maker.fork.remote(value))
        assert good
        assert made[0] == value + 1 and (made[1:] == value).all()


def test_the_store_is_not_filled_by_what_the_actor_has_let_go_of():
    with ray.init(num_cpus=2, object_store_memory=80 << 20, log_to_driver=False):
        maker = ready_maker()
        for value in range(200):
            assert ray.get(maker.make.remote(value, 1 << 20))[0] == value  # 8 MiB each


# ---- arguments


@ray.remote
class Taker:
    def pid(self):
        return os.getpid()

    def total(self, array):
        return float(array.sum())

    def hold(self, array):
        self.held = array

    def held_total(self):
        return float(self.held.sum())

    def write_past_numpy(self, array, byte):
        """As torch.from_numpy allows: what arrives is read-only, but its memory is the caller's own."""
        ctypes.memset(array.ctypes.data, byte, array.nbytes)
        self.held = array
        return int(array.view("u1").sum())

    def pass_on(self, taker, value):
        taker.total.remote(np.full(SIZE, value))


def used():
    return ray.cluster_resources()["object_store_memory"] - ray.available_resources()["object_store_memory"]


def test_an_array_given_to_several_by_value_is_stored_once(running):
    takers = [Taker.remote() for _ in range(4)]
    array = np.full(SIZE, 2.0)
    before = used()
    ray.get([taker.hold.remote(array) for taker in takers])
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
        assert ray.get([taker.write_past_numpy.remote(array, n) for n, taker in enumerate(takers)]) == [0, size, 2 * size]
        assert ray.get([takers[0].total.remote(array) for _ in range(3)]) == [size] * 3
    assert ray.get([taker.held_total.remote() for taker in takers]) == [0, size, 2 * size]


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
    deadline = time.monotonic() + 10  # they go when the call is over, which is after its result is there
    while used() - before >= 8 * SIZE and time.monotonic() < deadline:
        time.sleep(0.001)
    assert used() - before < 8 * SIZE


def test_the_last_arguments_make_room_for_others():
    with ray.init(num_cpus=2, object_store_memory=100 << 20, log_to_driver=False, _system_config={"automatic_object_spilling_enabled": False}):
        taker = Taker.remote()
        taker.total.remote(np.ones(60 << 17))
        ref = ray.put(np.ones(60 << 17))
        assert ray.get(ref)[0] == 1.0


# ---- arguments that come back


def apart(array):
    return {
        "itself": lambda: array,
        "most of it": lambda: array[array.size // 4 :],
        "matrix": lambda: array.reshape(-1, 10),
        "transposed": lambda: array.reshape(-1, 10).T,
        "in a dict": lambda: {"n": 1, "array": array},
        "with a ref": lambda: (ray.put(1), array, ray.put(2)),
        "beside its own": lambda: (array, array + 1.0),
        "little of it": lambda: array[array.size // 4 : array.size // 2],
        "twice": lambda: [array, array],
        "strided": lambda: array[::2],
        "beside an object": lambda: (array, Plain(array)),
    }


@ray.remote
class Echo:
    def back(self, array):
        return array

    def back_as(self, array, how):
        array = apart(array)[how]()
        return array

    def back_first(self, array, other):
        return array

    def keep(self, array, how):
        self.kept = memoryview(array) if how == "memoryview" else weakref.ref(array) if how == "weak" else array[10:20] if how == "view" else array
        return {"inside": {"array": array}, "under": array.reshape(-1, 10)}.get(how, array)

    def overwrite(self, how):
        kept = self.kept() if how == "weak" else self.kept
        if kept is not None:
            kept = np.asarray(kept)
            ctypes.memset(kept.ctypes.data, 0, kept.nbytes)


@pytest.mark.parametrize("how", ["itself", "most of it", "matrix", "transposed", "in a dict", "with a ref"])
def test_an_argument_that_comes_back_needs_no_more_room(running, how):
    ray.shutdown()
    placement = packed(1) if running == "packed" else "isolated"
    no_spilling = {"automatic_object_spilling_enabled": False}
    with ray.init(placement=placement, num_cpus=2, object_store_memory=100 << 20, log_to_driver=False, _system_config=no_spilling):
        echo = Echo.remote()
        array = np.arange(60.0 * (1 << 17))
        for _ in range(3):
            found = ray.get(echo.back_as.remote(array, how))
            found = found["array"] if how == "in a dict" else found[1] if how == "with a ref" else found
            assert found.base is not None and found.max() == array[-1]
            del found


@pytest.mark.parametrize("how, stored", [
    ("itself", 1), ("most of it", 1), ("matrix", 1), ("transposed", 1), ("in a dict", 1), ("with a ref", 1), ("beside its own", 2),
    ("little of it", 0.25), ("twice", 1), ("strided", 0.5), ("beside an object", 2),
])  # fmt: skip
def test_what_an_argument_comes_back_as_takes_no_more_room_than_it_needs(running, how, stored):
    def bare(value):
        return [value[k] for k in sorted(value)] if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]

    echo = Echo.remote()
    array = np.arange(float(SIZE))
    for _ in range(3):
        array += 1.0
        expected = apart(array.copy())[how]()
        before = used()
        found = ray.get(echo.back_as.remote(array, how))
        array += 1.0
        ray.get(echo.back.remote(None))  # what the call before had is given back
        assert used() - before < (stored + 0.2) * array.nbytes
        for one, other in zip(bare(found), bare(expected), strict=True):
            if isinstance(other, Plain):
                one, other = one.array, other.array
            if isinstance(other, ray.ObjectRef):
                assert ray.get(one) == ray.get(other)
            else:
                assert np.array_equal(one, other)
                assert not isinstance(one, np.ndarray) or not one.flags.writeable
        del found, one, other
        expected = None
        assert used() - before < 0.1 * array.nbytes


@pytest.mark.parametrize("how", ["array", "view", "memoryview", "weak", "inside", "under"])
def test_what_the_actor_has_kept_of_its_arguments_is_its_own(running, how):
    echo = Echo.remote()
    for _ in range(3):
        array = np.arange(float(SIZE))
        found = ray.get(echo.keep.remote(array, how))
        ray.get(echo.overwrite.remote(how))
        assert np.array_equal(found["array"] if how == "inside" else np.ravel(found), array)


def test_a_result_that_was_an_argument_is_passed_on_as_a_copy(running):
    echo, other = Echo.remote(), Echo.remote()
    array = np.arange(float(SIZE))
    first = echo.back.remote(array)
    second = other.back.remote(first)
    third = other.back.remote(ray.get(first))
    found = ray.get(first)
    others = ray.get([second, third])
    ctypes.memset(found.ctypes.data, 0, found.nbytes)
    assert all(np.array_equal(one, array) for one in others)


def test_given_to_several_it_comes_back_from_each_by_itself(running):
    echoes = [Echo.remote() for _ in range(3)]
    array = np.arange(float(SIZE))
    for _ in range(3):
        found = ray.get([echo.back.remote(array) for echo in echoes])
        for number, one in enumerate(found):
            assert np.array_equal(one, array)
            ctypes.memset(one.ctypes.data, number, one.nbytes)
        assert [one.view("u1")[-1] for one in found] == [0, 1, 2]


def test_what_came_back_outlives_its_actor_and_the_run():
    with ray.init(num_cpus=4, log_to_driver=False):
        echo = Echo.remote()
        array = np.arange(float(SIZE))
        ref = echo.back.remote(array)
        found = ray.get(ref)
        ray.kill(echo)
        assert np.array_equal(found, array) and np.array_equal(ray.get(ref), array)
        del ref
    assert np.array_equal(found, array)


def test_a_handle_among_the_arguments_is_not_kept_by_what_comes_back(running):
    echo, taker = Echo.remote(), Taker.remote()
    pid = ray.get(taker.pid.remote())
    found = ray.get(echo.back_first.remote(np.ones(SIZE), taker))
    del taker
    ray.get(echo.back.remote(None))
    if running == "isolated":
        deadline = time.monotonic() + 20
        while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not os.path.exists(f"/proc/{pid}")
    assert found.sum() == SIZE


def test_what_came_back_is_read_from_the_disk_when_the_store_is_full():
    with ray.init(num_cpus=2, object_store_memory=80 << 20, log_to_driver=False):
        echo = Echo.remote()
        refs = [echo.back.remote(np.full(1 << 20, float(value))) for value in range(30)]  # 8 MiB each
        for value, ref in enumerate(refs):
            assert (ray.get(ref) == value).all()
        assert (ray.get(echo.back.remote(refs[3])) == 3).all()


def echoes(ray):
    echo, other = Echo.remote(), Echo.remote()
    array = np.arange(float(SIZE))
    sums = []
    for _ in range(5):
        array += 1.0
        refs = [echo.back.remote(array), other.back_as.remote(array, "most of it"), echo.back_as.remote(array, "with a ref")]
        sums += [float((found if isinstance(found, np.ndarray) else found[1]).sum()) for found in ray.get(refs)]
    return sums


def test_the_digest_does_not_tell_whether_it_was_stored_again(tmp_path):
    ways = [{}, {"placement": "inline"}, {"placement": "packed"}, {"record": tmp_path / "kept"}]  # a run that is recorded copies
    assert len({repr(outcome(echoes, **{"digest": "full", **way})) for way in ways}) == 1
