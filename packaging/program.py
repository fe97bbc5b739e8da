"""A small program that an installed wheel must run: tasks, an actor, arrays, errors."""

import shutil
import sys
from pathlib import Path

import numpy as np
from reactor import _core

import rayshim as ray


@ray.remote
def double(x):
    return 2 * x


@ray.remote
class Sum:
    def __init__(self):
        self.array = np.zeros(1_000_000)

    def add(self, array):
        self.array = self.array + array
        return self.array

    def fail(self):
        raise ValueError("as it should")


def main():
    assert shutil.which("c++") is None and shutil.which("gcc") is None
    for package in (ray, _core):
        folder = Path(package.__file__).parent
        assert "site-packages" in folder.parts and (folder / "py.typed").exists(), folder
    assert not hasattr(_core, "roundtrip"), "what is for tests is in the shipped core"
    assert not (Path(ray.__file__).parent / "tests").exists()
    for placement in ("isolated", "packed", "inline"):
        ray.init(placement=placement, num_cpus=2, logging_level="WARNING")
        assert ray.get([double.remote(i) for i in range(5)]) == [0, 2, 4, 6, 8]
        actor = Sum.remote()
        for _ in range(5):
            array = ray.get(actor.add.remote(np.ones(1_000_000)))
        assert array.sum() == 5_000_000
        try:
            ray.get(actor.fail.remote())
        except ValueError as error:
            assert "as it should" in str(error)
        else:
            raise AssertionError("no error")
        ray.shutdown()
    print(f"Python {sys.version.split()[0]}: good")


if __name__ == "__main__":
    main()
