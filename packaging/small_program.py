"""A program for small places: a task, an actor, an array of 1 MB each way. The package is rayshim or ray."""

import argparse
import importlib
import platform
import sys

import numpy as np

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("package", choices=["rayshim", "ray"])
parser.add_argument("--cpus", type=int, help="the CPUs that `init` has to find")
parser.add_argument("--bytes", type=int, help="the most memory that `init` may find")
parser.add_argument("--placement", help="rayshim's, for `init`")
arguments = parser.parse_args()
ray = importlib.import_module(arguments.package)


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
    ray.init(**({"placement": arguments.placement} if arguments.placement else {}))
    found = ray.cluster_resources()
    cpus, size = found["CPU"], found["memory"] + found["object_store_memory"]
    if arguments.cpus not in (None, cpus) or size > (arguments.bytes or size):
        sys.exit(f"`init` finds {cpus:g} CPUs and {size / (1 << 20):.0f} MiB")
    total = Sum.remote()
    for _ in range(5):
        array = ray.get(total.add.remote(double.remote(np.ones(125_000))))
    assert array.sum() == 1_250_000
    ray.shutdown()
    print(f"{arguments.package}, Python {platform.python_version()}, {platform.machine()}: good")


if __name__ == "__main__":
    main()
