"""A cancelled task that has not begun lets go of its arguments at once."""

import numpy as np

from compat_tests.processes import wait_until

SIZE = 20 * 2**20


def test_arguments_of_a_cancelled_task_in_the_queue_are_freed(bare_ray):
    ray = bare_ray
    ray.init(num_cpus=1, object_store_memory=200 * 2**20, log_to_driver=False)

    @ray.remote(num_cpus=0)
    class Gate:
        def __init__(self):
            self.begun = self.is_open = False

        def begin(self):
            self.begun = True

        def set(self):
            self.is_open = True

        def facts(self):
            return self.begun, self.is_open

    @ray.remote
    def block(gate):
        import time

        ray.get(gate.begin.remote())
        while not ray.get(gate.facts.remote())[1]:
            time.sleep(0.05)

    @ray.remote
    def use(x):
        return 1

    def used():
        return ray.cluster_resources()["object_store_memory"] - ray.available_resources().get("object_store_memory", 0)

    gate = Gate.remote()
    blocked = block.remote(gate)
    wait_until(lambda: ray.get(gate.facts.remote())[0])
    before = used()
    for make in (
        lambda: use.remote(ray.put(np.ones(SIZE, np.uint8))),
        lambda: use.remote(np.ones(SIZE, np.uint8)),
        lambda: use.remote([ray.put(np.ones(SIZE, np.uint8))]),
    ):
        others = [use.remote(0) for _ in range(20)]
        ref = make()
        later = [use.remote(0) for _ in range(20)]
        wait_until(lambda: used() > before + SIZE / 2)
        ray.cancel(ref)
        wait_until(lambda: used() < before + SIZE / 2)
    ray.get(gate.set.remote())
    assert ray.get(blocked) is None
    assert ray.get([*others, *later]) == [1] * 40  # the tasks around it run
    try:
        ray.get(ref)
        raise AssertionError("a cancelled task has a value")
    except ray.exceptions.TaskCancelledError:
        pass
