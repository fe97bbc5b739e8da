"""Programs that are in no file: from the standard input and on the command line."""

import subprocess
import sys

import pytest

PROGRAM = """\
import ray, sys

@ray.remote
def double(x):
    return Number(2 * x)

@ray.remote(num_cpus=0)
class Adder:
    def add(self, number, x):
        return number.value + x

class Number:
    def __init__(self, value):
        self.value = value

ray.init(num_cpus=2)
print(ray.get(Adder.remote().add.remote(double.remote(4), 1)), sys.argv, sys.path[0] == "", __name__)
if sys.argv[1:] == ["fail"]:
    raise ValueError("of the program")
"""


@pytest.fixture(params=["-", "-c"])
def run(request):
    def run(*args, options=()):
        program = ["-c", PROGRAM] if request.param == "-c" else ["-"]
        ran = subprocess.run(
            [sys.executable, "-m", "rayshim", *options, *program, *args],
            input=PROGRAM if request.param == "-" else "",
            capture_output=True,
            text=True,
            timeout=200,
        )
        return ran, request.param

    return run


@pytest.mark.parametrize("options", [(), ("--placement", "inline"), ("run", "--placement", "packed")])
def test_a_program_without_a_file_has_its_functions_classes_and_arguments(run, options):
    ran, how = run("one", "-x", options=options)
    assert (ran.returncode, ran.stdout) == (0, f"9 ['{how}', 'one', '-x'] True __main__\n"), ran.stderr


def test_its_error_names_its_lines_as_python_does(run):
    ran, _ = run("fail")
    assert ran.returncode == 1
    assert "line 19, in <module>" in ran.stderr and "ValueError: of the program" in ran.stderr
    assert "rayshim/cli/script.py" not in ran.stderr


def test_text_that_is_missing_is_asked_for():
    ran = subprocess.run([sys.executable, "-m", "rayshim", "-c"], capture_output=True, text=True, timeout=200)
    assert ran.returncode == 2 and "no program given" in ran.stderr
