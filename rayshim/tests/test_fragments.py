"""The tests of rayshim.fragments, each file in a pytest of its own: they import torch, which the workers of all later tests would import, too."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("file", sorted(path.name for path in HERE.glob("fragments_*.py")))
def test_fragments(file):
    if not (find_spec("torch") and find_spec("gymnasium")):  # to import torch here is what is to be avoided
        pytest.skip("torch and gymnasium are not installed")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:xdist",
        "-p",
        "no:cacheprovider",
        "-rs",
        str(HERE / file),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:]
    assert " passed" in done.stdout
