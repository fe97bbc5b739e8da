"""`inspect.stack()` in a program and in its workers does not look through all modules: the frames beneath them have answers at once."""

import os
import subprocess
import sys

import pytest

HELPER = """
import inspect, sys, types

class Asked(types.ModuleType):
    times = 0

    @property
    def __file__(self):
        Asked.times += 1
        raise AttributeError

def searches():
    sys.modules["asked"] = Asked("asked")
    inspect.stack()  # this one fills the cache of inspect
    before = Asked.times
    files = [frame.filename for frame in inspect.stack()]
    return Asked.times - before, files[0], inspect.getmodule(inspect.currentframe()).__name__

class Looks:
    def searches(self):
        return searches()
"""
PROGRAM = """
import helper, rayshim as ray

print(*helper.searches())
ray.init(num_cpus=1, logging_level="ERROR")
print(*ray.get(ray.remote(helper.Looks).remote().searches.remote()))
"""


@pytest.mark.parametrize("placement", ["isolated", "packed", "inline"])
def test_no_frame_costs_a_search(tmp_path, placement):
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "program.py").write_text(PROGRAM)
    ran = subprocess.run(
        [sys.executable, "-m", "rayshim", "program.py"],
        cwd=tmp_path,
        env={**os.environ, "RAYSHIM_PLACEMENT": placement},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.stdout.splitlines() == [f"0 {tmp_path / 'helper.py'} helper"] * 2, ran.stderr
