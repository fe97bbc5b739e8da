"""A full store that may not go to the disk is an error, with its limit stated. (Ray's own takes its time to say so.)"""

import threading

import numpy as np
import pytest

pytestmark = [pytest.mark.rayshim_only, pytest.mark.needs_processes]
LIMIT = 128 << 20
SIZE = 20 << 20


@pytest.fixture
def ray(bare_ray, backend):
    backend.init(
        num_cpus=4, object_store_memory=LIMIT, log_to_driver=False, _system_config={"automatic_object_spilling_enabled": False}
    )
    return bare_ray


def fill(ray):
    """Refs to as many objects as fit."""
    return [ray.put(np.ones(SIZE, np.uint8)) for _ in range(LIMIT // SIZE)]


def test_an_object_larger_than_the_store_is_refused_with_both_sizes(ray):
    with pytest.raises(ray.exceptions.ObjectStoreFullError, match=r"\d[\s\S]*\d"):
        ray.put(np.ones(LIMIT + 1, np.uint8))
    assert ray.get(ray.put(1)) == 1


def test_a_full_store_is_an_error_and_works_again_once_there_is_room(ray):
    refs = fill(ray)
    with pytest.raises(ray.exceptions.ObjectStoreFullError):
        ray.put(np.ones(SIZE, np.uint8))
    assert all(ray.get(ref).all() for ref in refs)
    del refs
    assert ray.get(ray.put(np.full(SIZE, 2, np.uint8)))[0] == 2


def test_a_put_into_a_full_store_waits_for_room(ray):
    refs = fill(ray)
    threading.Timer(0.3, refs.clear).start()
    assert ray.get(ray.put(np.full(SIZE, 2, np.uint8)))[0] == 2


def test_a_result_without_room_is_its_tasks_error(ray):
    @ray.remote
    class Maker:
        def make(self):
            return np.ones(SIZE, np.uint8)

        def ping(self):
            return "pong"

    maker = Maker.remote()
    refs = fill(ray)
    with pytest.raises(ray.exceptions.ObjectStoreFullError):
        ray.get(maker.make.remote())
    assert ray.get(maker.ping.remote()) == "pong"
    del refs
    assert ray.get(maker.make.remote()).all()
