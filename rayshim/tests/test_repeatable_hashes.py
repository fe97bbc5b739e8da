"""Hashes of strings: with a seed they are the same in each run."""

import os
import subprocess
import sys

PROGRAM = """
import os, sys
import rayshim as ray

@ray.remote
def of(text):
    return hash(text), os.environ.get("PYTHONHASHSEED")

@ray.remote
class Hashes:
    def of(self, text):
        return hash(text)

ray.init(num_cpus=1, logging_level="ERROR", **eval(os.environ.get("HOW", "{}")))
print(ray.get([of.remote("some text"), Hashes.remote().of.remote("some text")]))
if os.environ.get("DRIVER"):
    print(hash("some text"), os.environ["PYTHONHASHSEED"], ray.report().repeatable.notes)
"""


def output(tmp_path, *options, **env):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    own = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    command = [sys.executable, *(("-m", "rayshim", *options) if options else ()), str(path)]
    done = subprocess.run(command, env={**own, **env}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_workers_of_a_session_with_a_seed_have_the_same_hashes(tmp_path):
    seven = output(tmp_path, HOW="{'seed': 7}")
    assert output(tmp_path, HOW="{'seed': 7}") == seven == output(tmp_path, "run", HOW="{'seed': 7}")
    assert output(tmp_path, HOW="{'seed': 8}") != seven
    assert output(tmp_path) != output(tmp_path)


def test_what_the_user_has_set_stays(tmp_path):
    assert "'3'" in output(tmp_path, HOW="{'seed': 7}", PYTHONHASHSEED="3")
    assert "'3'" in output(tmp_path, "run", "--seed", "7", PYTHONHASHSEED="3")


def test_the_option_of_the_command_line_holds_for_the_driver_too(tmp_path):
    first = output(tmp_path, "run", "--seed", "7", DRIVER="1")
    assert first == output(tmp_path, "run", "--seed", "7", DRIVER="1") and first.endswith("7 ()\n")
    assert first != output(tmp_path, "run", "--seed", "8", DRIVER="1")
    assert "'0'" in output(tmp_path, "run", "--seed", "0", DRIVER="1")


def test_a_seed_that_is_no_number_is_refused(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    env = {**os.environ, "RAYSHIM_SEED": "seven"}
    done = subprocess.run([sys.executable, str(path)], env=env, capture_output=True, text=True, check=False)
    assert "RAYSHIM_SEED is 'seven': it must be an integer" in done.stderr
