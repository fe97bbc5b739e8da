"""The workloads compute the same in every style and placement, so that what is compared is their time alone."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

# Not imported here: a process that has torch makes every worker import it.
MISSING = [name for name in ("gymnasium", "ale_py", "torch") if find_spec(name) is None]

PROGRAM = Path(__file__).with_name("run_programs.py")
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # the hash of nothing


def traces(placement):
    path = os.pathsep.join(os.path.abspath(p) for p in sys.path if p)
    done = subprocess.run(
        [sys.executable, "-m", "rayshim", "--placement", placement, str(PROGRAM)],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.skipif(bool(MISSING), reason=f"the programs need {', '.join(MISSING)}")
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_programs_compute_the_same_in_each_style_and_placement():
    inline, isolated = traces("inline"), traces("isolated")
    for program, styles in inline.items():
        assert len({*styles.values(), *isolated[program].values()}) == 1, (program, styles, isolated[program])
        assert EMPTY not in styles.values()


def printed(*command):
    programs = PROGRAM.parents[1] / "programs"
    done = subprocess.run(
        [sys.executable, *command],
        cwd=programs,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.skipif("gymnasium" in MISSING, reason="the environments are gymnasium's")
@pytest.mark.parametrize("env", ["CartPole-v1", "Blackjack-v1", "Pendulum-v1"])
def test_environments_step_the_same_in_processes_of_their_own(env):
    steps = ["--env", env, "--envs", "3", "--steps", "30", "--rounds", "2"]
    alone, processes = (
        printed("vector_environments.py", "--library", library, *steps) for library in ("SyncVectorEnv", "processes")
    )
    assert alone == processes and alone.startswith("trace ") and EMPTY not in alone
