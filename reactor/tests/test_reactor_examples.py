"""Each program of examples/reactor/ runs by itself and prints what its reader expects."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "reactor"
PRINTS = {
    "moving_average.py": "#0  0      here    Main.source.emit",
    "door.py": "0 ms: knock 1 opens\n250 ms: knock 2 enters\n500 ms: knock 3 enters\n550 ms: closes\n750 ms: knock 4 opens\n1000 ms: knock 5 enters\n",
    "hello.lf": "hello 1 at 0 ms\nhello 2 at 400 ms\nhello 3 at 800 ms\n",
}


def test_every_example_is_tested():
    assert {path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".lf")} == set(PRINTS)


@pytest.mark.parametrize("name", PRINTS)
def test_example(name, tmp_path):
    start = [sys.executable, *(["-m", "reactor"] if name.endswith(".lf") else []), EXAMPLES / name]
    done = subprocess.run(start, capture_output=True, text=True, cwd=tmp_path, timeout=50)
    assert done.returncode == 0, done.stderr
    assert PRINTS[name] in done.stdout
