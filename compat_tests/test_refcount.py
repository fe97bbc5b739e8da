"""The object store's fill level, which `available_resources` shows, tells whether an object is still kept."""

import gc
import os
import signal

import numpy as np
import pytest

from compat_tests.processes import wait_until

# In one process there is no shared memory whose fill level could be asked for.
pytestmark = pytest.mark.needs_processes
SIZE = 20 << 20


@pytest.fixture
def store(ray):
    """Waits until the store holds a number of objects of `SIZE` bytes, and little else."""
    total = ray.cluster_resources()["object_store_memory"]

    def holds(count):
        gc.collect()
        used = total - ray.available_resources().get("object_store_memory", 0)
        return SIZE * count <= used < SIZE * (count + 1)

    def wait_for(count):
        wait_until(lambda: holds(count), 10, f"{count} objects are kept")

    wait_for(0)
    yield wait_for


@pytest.fixture
def make(ray):
    """A task that makes an object of `SIZE` bytes."""

    @ray.remote
    def make(value=1):
        return np.full(SIZE, value, np.uint8)

    return make


def test_a_put_object_goes_with_its_ref(ray, store):
    ref = ray.put(np.ones(SIZE, np.uint8))
    store(1)
    del ref
    store(0)


def test_a_result_goes_with_its_ref(ray, store, make):
    ref = make.remote()
    ray.wait([ref])
    store(1)
    del ref
    store(0)


def test_an_object_stays_while_one_of_its_refs_does(ray, store, make):
    first = make.remote()
    second = ray.get(ray.put([first]))
    store(1)
    del first
    assert ray.get(second[0])[0] == 1
    del second
    store(0)


def test_an_array_outlives_the_ref_that_it_came_from(ray, store, make):
    array = ray.get(make.remote(7))
    for value in range(10):
        ray.get(make.remote(value))
    assert (array == 7).all()
    del array
    store(0)


def test_a_view_of_an_array_keeps_its_memory(ray, store, make):
    view = ray.get(make.remote(7))[100:200]
    for value in range(10):
        ray.get(make.remote(value))
    assert (view == 7).all()
    del view
    store(0)


def test_an_argument_is_kept_until_the_task_is_done(ray, store, make, gate):
    @ray.remote
    def use(array, gate):
        gate.enter()
        return int(array[0])

    ref = use.remote(make.remote(5), gate)
    wait_until(lambda: gate.inside() == 1)
    store(1)
    gate.open()
    assert ray.get(ref) == 5
    store(0)


def test_an_object_of_a_never_gotten_result_goes(ray, store, make):
    for _ in range(10):
        make.remote()
    store(0)


def test_an_object_kept_by_an_actor_stays_until_the_actor_lets_go(ray, store):
    @ray.remote
    class Keeper:
        def keep(self, refs):
            self.refs = refs

        def read(self):
            return int(ray.get(self.refs[0])[0])

        def drop(self):
            del self.refs

    keeper = Keeper.remote()
    ref = ray.put(np.full(SIZE, 3, np.uint8))
    ray.get(keeper.keep.remote([ref]))
    del ref
    assert ray.get(keeper.read.remote()) == 3
    store(1)
    ray.get(keeper.drop.remote())
    store(0)


def test_an_object_kept_by_an_actor_goes_with_the_actor(ray, store):
    @ray.remote
    class Keeper:
        def keep(self, refs):
            self.refs = refs

    keeper = Keeper.remote()
    ref = ray.put(np.ones(SIZE, np.uint8))
    ray.get(keeper.keep.remote([ref]))
    del ref
    store(1)
    ray.kill(keeper)
    store(0)


def test_a_put_in_a_worker_is_kept_by_the_drivers_ref(ray, store):
    @ray.remote
    class Maker:
        def make(self):
            return ray.put(np.full(SIZE, 4, np.uint8))

    maker = Maker.remote()
    ref = ray.get(maker.make.remote())
    store(1)
    assert ray.get(ref)[0] == 4
    del ref
    store(0)


def test_a_nested_object_goes_with_the_object_that_holds_its_ref(ray, store):
    outer = ray.put([ray.put(np.full(SIZE, 6, np.uint8))])
    store(1)
    assert ray.get(ray.get(outer)[0])[0] == 6
    del outer
    store(0)


def test_an_exception_keeps_no_object_alive(ray, store, make):
    @ray.remote
    def fail(array):
        raise ValueError(str(array[0]))

    with pytest.raises(ValueError):
        ray.get(fail.remote(make.remote()))
    store(0)


def test_a_killed_worker_leaves_no_object_behind(ray, store):
    @ray.remote
    class Maker:
        def pid(self):
            return os.getpid()

        def make(self):
            return np.ones(SIZE, np.uint8)

    maker = Maker.remote()
    pid = ray.get(maker.pid.remote())
    refs = [maker.make.remote() for _ in range(4)]
    ray.wait(refs)
    os.kill(pid, signal.SIGKILL)
    for ref in refs:
        try:
            assert ray.get(ref).all()
        except ray.exceptions.RayActorError:
            pass
    del ref, refs
    store(0)
