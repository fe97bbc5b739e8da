"""When the store is full, all processes of the session collect garbage that holds refs."""

import gc
import time

import numpy as np

from compat_tests.processes import wait_until

SIZE = 20 * 2**20


class Ring:
    """Garbage that only a collection finds: it refers to itself, and holds a value of the store."""

    def __init__(self, ray):
        self.itself = self
        self.ref = ray.put(np.ones(SIZE, np.uint8))


def rings():
    return sum(type(o).__name__ == "Ring" for o in gc.get_objects())


def fill(ray):
    return [ray.put(np.zeros(SIZE, np.uint8)) for _ in range(4)]


def make(ray):
    gc.disable()
    for _ in range(3):
        Ring(ray)


def test_an_idle_actor_collects(bare_ray):
    ray = bare_ray
    ray.init(num_cpus=2, object_store_memory=120 * 2**20, log_to_driver=False)

    @ray.remote
    class Holder:
        def make(self):
            make(ray)

        def rings(self):
            return rings()

    holder = Holder.remote()
    ray.get(holder.make.remote())
    values = fill(ray)
    wait_until(lambda: ray.get(holder.rings.remote()) <= 1)
    assert all(value.sum() == 0 for value in ray.get(values))


def test_an_async_actor_collects(bare_ray):
    ray = bare_ray
    ray.init(num_cpus=2, object_store_memory=120 * 2**20, log_to_driver=False)

    @ray.remote
    class Holder:
        async def make(self):
            make(ray)

        async def rings(self):
            return rings()

    holder = Holder.remote()
    ray.get(holder.make.remote())
    values = fill(ray)
    wait_until(lambda: ray.get(holder.rings.remote()) <= 1)
    del values


def test_a_task_that_waits_collects(bare_ray):
    ray = bare_ray
    ray.init(num_cpus=3, object_store_memory=120 * 2**20, log_to_driver=False)

    @ray.remote
    class Signal:
        def __init__(self):
            self.is_set, self.made = False, False

        def set(self, name):
            setattr(self, name, True)

        def get(self, name):
            return getattr(self, name)

    @ray.remote
    def wait(signal):
        make(ray)
        ray.get(signal.set.remote("made"))
        while not ray.get(signal.get.remote("is_set")):
            ray.wait([ray.put(0), never.remote()], num_returns=2, timeout=0.3)
            if rings() <= 1:
                return True
        return rings() <= 1

    @ray.remote(resources={"none": 1})
    def never():
        pass

    signal = Signal.remote()
    waiting = wait.remote(signal)
    wait_until(lambda: ray.get(signal.get.remote("made")))
    values = fill(ray)
    assert ray.get(waiting, timeout=60)
    del values


def test_the_driver_collects_while_it_sleeps(bare_ray):
    ray = bare_ray
    ray.init(num_cpus=2, object_store_memory=120 * 2**20, log_to_driver=False)

    @ray.remote
    class Filler:
        def fill(self):
            self.values = fill(ray)

    filler = Filler.remote()
    enabled = gc.isenabled()
    try:
        make(ray)
        filled = filler.fill.remote()
        deadline = time.monotonic() + 60
        while rings() > 1 and time.monotonic() < deadline:
            time.sleep(0.1)  # no function of Ray's: nothing of the program's own can collect
        assert rings() <= 1
        ray.get(filled)
    finally:
        if enabled:
            gc.enable()
