"""A program that Ctrl-C ends dies of SIGINT, as it does without rayshim, whatever is written at its end."""

import os
import signal
import subprocess
import sys

import pytest

PROGRAM = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may have had it ignored
import rayshim as ray

@ray.remote
class Actor:
    def one(self):
        return 1

if __name__ == "__main__":
    ray.init(num_cpus=1, logging_level="ERROR", placement=PLACEMENT)
    actor = Actor.remote()
    ray.get(actor.one.remote())
    print("runs", flush=True)
    while True:
        ray.get(actor.one.remote())
        time.sleep(0.01)
"""


def interrupted(command, tmp_path, placement):
    (tmp_path / "program.py").write_text(PROGRAM.replace("PLACEMENT", repr(placement)))
    path = os.pathsep.join(os.path.abspath(p) for p in sys.path if p)
    process = subprocess.Popen(
        [sys.executable, *command, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "XDG_CACHE_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "runs\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert errors.count("KeyboardInterrupt") == 1, errors
    return process.returncode


@pytest.mark.parametrize("placement", ["isolated", "packed", "inline", "auto"])
@pytest.mark.parametrize("command", [[], ["-m", "rayshim"]], ids=["python", "rayshim"])
def test_in_every_placement(tmp_path, command, placement):
    assert interrupted(command, tmp_path, placement) == -signal.SIGINT


@pytest.mark.parametrize("options", [["--explain"], ["--graph", "g.txt"], ["--trace", "t.json"], ["--record", "run"]])
def test_with_every_option(tmp_path, options):
    assert interrupted(["-m", "rayshim", *options], tmp_path, None) == -signal.SIGINT


def test_an_interrupt_that_the_program_catches_is_not_its_end(tmp_path):
    program = """
import rayshim as ray
ray.init(num_cpus=1, logging_level="ERROR", placement="auto")
try:
    raise KeyboardInterrupt
except KeyboardInterrupt:
    print("caught")
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "caught\n"), done.stderr
