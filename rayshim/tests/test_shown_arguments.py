"""Arguments that come back as a result, which shows their bytes: seen by the room that they take, and by nothing else."""

import ctypes
import os
import signal
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from reactor.tests.calling import wait_until

import rayshim as ray
from rayshim.placement.packed import packed
from rayshim.tests.runs import outcome
from rayshim.tests.stores import Plain, used

SIZE = 100_000  # float64
NO_SPILLING = {"automatic_object_spilling_enabled": False}


def placed(name):
    return packed(1) if name == "packed" else name


@pytest.fixture(params=["isolated", "packed"])
def running(request):
    ray.init(placement=placed(request.param), num_cpus=4, log_to_driver=False)
    yield request.param
    ray.shutdown()


def overwrite(array, byte=0):
    """Writes to what is read-only, as torch.from_numpy allows."""
    array = np.asarray(array)
    ctypes.memset(array.ctypes.data, byte, array.nbytes)


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
    def pid(self):
        return os.getpid()

    def back(self, array):
        return array

    def back_as(self, array, how):
        array = apart(array)[how]()
        return array

    def back_first(self, array, other):
        return array

    def keep(self, array, how):
        self.kept = (
            memoryview(array)
            if how == "memoryview"
            else weakref.ref(array)
            if how == "weak"
            else array[10:20]
            if how == "view"
            else array
        )
        return {"inside": {"array": array}, "under": array.reshape(-1, 10)}.get(how, array)

    def overwrite(self, how):
        kept = self.kept() if how == "weak" else self.kept
        if kept is not None:
            overwrite(kept)


@pytest.mark.parametrize("how", ["itself", "most of it", "matrix", "transposed", "in a dict", "with a ref"])
def test_an_argument_that_comes_back_needs_no_more_room(running, how):
    ray.shutdown()
    with ray.init(
        placement=placed(running),
        num_cpus=2,
        object_store_memory=100 << 20,
        log_to_driver=False,
        _system_config=NO_SPILLING,
    ):
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
        return (
            [value[k] for k in sorted(value)]
            if isinstance(value, dict)
            else value
            if isinstance(value, list | tuple)
            else [value]
        )

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
                # Of what is no whole piece of memory, the reader has a copy of its own.
                assert not isinstance(one, np.ndarray) or one.flags.writeable == (how == "strided")
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
    overwrite(found)
    assert all(np.array_equal(one, array) for one in others)


def test_given_to_several_it_comes_back_from_each_by_itself(running):
    echoes = [Echo.remote() for _ in range(3)]
    array = np.arange(float(SIZE))
    for _ in range(3):
        found = ray.get([echo.back.remote(array) for echo in echoes])
        for number, one in enumerate(found):
            assert np.array_equal(one, array)
            overwrite(one, number)
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
    echo, taker = Echo.remote(), Echo.remote()
    pid = ray.get(taker.pid.remote())
    found = ray.get(echo.back_first.remote(np.ones(SIZE), taker))
    del taker
    ray.get(echo.back.remote(None))
    if running == "isolated":
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"))
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
        refs = [
            echo.back.remote(array),
            other.back_as.remote(array, "most of it"),
            echo.back_as.remote(array, "with a ref"),
        ]
        sums += [float((found if isinstance(found, np.ndarray) else found[1]).sum()) for found in ray.get(refs)]
    return sums


def test_the_digest_does_not_tell_whether_it_was_stored_again(tmp_path):
    ways = [
        {},
        {"placement": "inline"},
        {"placement": "packed"},
        {"record": tmp_path / "kept"},
    ]  # a run that is recorded copies
    assert len({repr(outcome(echoes, **{"digest": "full", **way})) for way in ways}) == 1


# ---- who else might have it


@ray.remote(max_restarts=-1)
class Restarted:
    def __init__(self, array):
        self.array = array
        self.first = float(array[0])

    def scribble(self):
        overwrite(self.array)

    def take(self):
        array, self.array = self.array, None
        return array

    def found(self):
        return self.first

    def die(self):
        os._exit(1)


@pytest.mark.parametrize("before", ["scribble", "take"])
def test_the_next_life_of_an_actor_is_given_what_the_first_one_was(running, before):
    actor = Restarted.remote(np.ones(SIZE))
    taken = ray.get(getattr(actor, before).remote())
    if before == "take":
        overwrite(taken, 7)
    with pytest.raises(ray.exceptions.RayActorError):
        ray.get(actor.die.remote())

    def found():
        try:
            return [ray.get(actor.found.remote())]
        except ray.exceptions.ActorUnavailableError:
            return None

    assert wait_until(found) == [1.0]
    ray.get(actor.scribble.remote())
    if before == "take":
        assert (taken.view("u1") == 7).all()
    else:
        assert taken is None


KEPT = []


def test_an_attempt_that_has_kept_the_argument_does_not_write_to_the_next_ones_result():
    module = __name__

    @ray.remote(max_restarts=3, max_task_retries=3)
    class Trying:
        def back(self, array):
            kept = sys.modules[module].KEPT  # the module's own, which each life finds again
            kept.append(array)
            if len(kept) == 1:
                sys.exit(3)
            return kept.pop()

        def overwrite(self):
            overwrite(sys.modules[module].KEPT.pop())

    with ray.init(placement="inline", num_cpus=2):
        actor = Trying.remote()
        found = ray.get(actor.back.remote(np.ones(SIZE)))
        ray.get(actor.overwrite.remote())
        assert found.sum() == SIZE


@ray.remote
class Forking:
    def back(self, array):
        self.go, self.done = os.pipe(), os.pipe()
        self.child = os.fork()
        if self.child == 0:
            os.read(self.go[0], 1)
            overwrite(array)
            os.write(self.done[1], b"x")
            os._exit(0)
        return array

    def let_it_write(self):
        os.write(self.go[1], b"x")
        os.read(self.done[0], 1)
        os.waitpid(self.child, 0)


def test_a_child_of_the_actor_does_not_write_to_what_came_back(running):
    actor = Forking.remote()
    found = ray.get(actor.back.remote(np.ones(SIZE)))
    ray.get(actor.let_it_write.remote())
    assert found.sum() == SIZE


@ray.remote
class ByAddress:
    def back(self, array):
        """A filled array, and one that shows the argument without having it."""
        time.sleep(0.1)  # meanwhile the caller lets go of what it has given
        there = (ctypes.c_double * (SIZE - SIZE // 4)).from_address(array.ctypes.data)
        return np.full(SIZE // 8, 7.0), np.ctypeslib.as_array(there)  # both together have room where the argument lies


def test_a_result_that_leads_to_the_argument_without_having_it_is_what_it_was(running):
    actor, other = ByAddress.remote(), Echo.remote()
    for value in range(5):
        array = np.full(SIZE, 1.0 + value)
        ref = actor.back.remote(array)
        ray.get(other.back.remote(None))
        assert (ray.get(ref)[1] == array[: SIZE - SIZE // 4]).all()


def test_every_array_begins_at_a_cache_line(running):
    @ray.remote
    class Unaligned:
        def back(self, array):
            return array[1 : 1 + 8 * SIZE].view("f8")

    actor = Unaligned.remote()
    array = np.arange(8 * SIZE + 8).astype("u1")
    found = ray.get(actor.back.remote(array))
    assert found.flags.aligned and found.ctypes.data % 64 == 0
    assert found.tobytes() == array[1 : 1 + 8 * SIZE].tobytes()


def test_a_worker_that_is_killed_while_it_writes_leaves_nothing_in_the_store():
    @ray.remote
    class Killed:
        def back(self, array, delay):
            own = np.ones(60 * SIZE)
            self.own = own

            def kill():
                time.sleep(delay)
                os.kill(os.getpid(), signal.SIGKILL)

            threading.Thread(target=kill, daemon=True).start()
            return array, own

    with ray.init(num_cpus=4, log_to_driver=False):
        before, deaths = used(), 0
        for delay in (0.001, 0.003, 0.006, 0.01, 0.015):
            try:
                ray.get(Killed.remote().back.remote(np.ones(10 * SIZE), delay))
            except ray.exceptions.RayActorError:
                deaths += 1
        assert deaths
        wait_until(lambda: used() - before <= 8 * SIZE, 10)
