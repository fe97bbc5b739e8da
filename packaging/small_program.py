"""A program for small places: a task, an actor, an array of 1 MB each way. small_program.py PACKAGE [CPUS BYTES]: rayshim or ray; what `init` has to find there,
that many CPUs and at most so much memory."""

import importlib
import sys

import numpy as np

ray = importlib.import_module(sys.argv[1])


@ray.remote
def double(array):
    return 2 * array


@ray.remote
class Sum:
    def __init__(self):
        self.array = np.zeros(125_000)

    def add(self, array):
        self.array = self.array + array
        return self.array


def main():
    ray.init()
    if len(sys.argv) > 2:
        cpus, most = map(int, sys.argv[2:])
        found = ray.cluster_resources()
        if found["CPU"] != cpus or found["memory"] + found["object_store_memory"] > most:
            sys.exit(f"{found['CPU']:g} CPUs, {(found['memory'] + found['object_store_memory']) / (1 << 20):.0f} MiB")
    total = Sum.remote()
    for _ in range(5):
        array = ray.get(total.add.remote(double.remote(np.ones(125_000))))
    assert array.sum() == 1_250_000
    ray.shutdown()


if __name__ == "__main__":
    main()
