"""Each program of examples/ runs by itself and prints what its reader expects."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PRINTS = {
    "first_actor": ["balances [15, 12]", "squares [0, 1, 4, 9, 16]", "refused ValueError: 100 is more than 12"],
    "cartpole": ["generation 5: ", "solved with a mean return of "],
    "parallel_environments": ["2000 steps, "],
    "parameter_server": ["step 25: loss 0.010774", "weights [ 1.99 -1.    0.5 ]"],
    "actor_learner": ["best arm 3"],
    "repeatable_players": [
        "isolated has the same result: True",
        "packed has the same result: True",
        "seed 4 again has the same result: True",
    ],
    "replay_a_run": [
        "replay computes the same: True",
        "another seed computes the same: False",
        "the first difference is at Scoreboard.enter",
    ],
    "impala": ["update 20: return ", "update 400: return "],
    "compare_with_ray": ["200 rounds of 8 calls"],
}


def test_every_example_is_tested():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(PRINTS)


@pytest.mark.parametrize("name", PRINTS)
def test_example(name, tmp_path):
    if name in ("cartpole", "parallel_environments", "impala"):
        pytest.importorskip("gymnasium")
    rayshim = ["-m", "rayshim"] if name in ("compare_with_ray", "impala") else []  # these say `import ray`
    done = subprocess.run(
        [sys.executable, *rayshim, str(EXAMPLES / f"{name}.py")],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    at = -1
    for text in PRINTS[name]:
        assert (at := done.stdout.find(text, at + 1)) >= 0, f"{text!r} is not in its place in {done.stdout!r}"
