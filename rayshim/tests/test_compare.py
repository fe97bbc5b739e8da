"""`rayshim compare`: what a program costs and prints on real Ray, here a stand-in for it, and on rayshim."""

import io
import math
import os
import subprocess
import sys

import pytest

pytest.importorskip("rich")

from rich.console import Console

from rayshim.cli import command, split_program
from rayshim.cli.compare import busy, compare
from rayshim.cli.compare.output import first_difference
from rayshim.cli.compare.plain import console

STAND_IN = """
def init(**options):
    pass
"""
CALLS = """
import ray
ray.init(log_to_driver=False)

@ray.remote
class Counter:
    def add(self, n):
        return n + 1

counter, n = Counter.remote(), 0
for _ in range(50):
    n = ray.get(counter.add.remote(n))
print(n)
"""


@pytest.fixture
def script(tmp_path):
    """Writes a program and gives its path."""

    def write(text):
        path = tmp_path / "program.py"
        path.write_text(text)
        return str(path)

    return write


@pytest.fixture
def with_stand_in(tmp_path):
    """Runs `rayshim compare` where `import ray` finds a module that has only `init`."""
    package = tmp_path / "site" / "ray"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(STAND_IN)

    def run(*arguments):
        path = os.pathsep.join([str(package.parent), *(os.path.abspath(p) for p in sys.path if p)])
        return subprocess.run(
            [sys.executable, "-m", "rayshim", "compare", *arguments],
            env={**os.environ, "PYTHONPATH": path, "COLUMNS": "200"},
            capture_output=True,
            text=True,
        )

    return run


def alone(monkeypatch, program):
    """(exit status, text) of a comparison where real Ray is not installed."""
    monkeypatch.setattr(compare, "find_spec", lambda name: None)
    shown = io.StringIO()
    status = compare.compare([program], math.inf, Console(file=shown, width=200))
    return status, shown.getvalue()


def test_both_are_run_and_print_the_same(script, with_stand_in):
    done = with_stand_in(script("import ray, sys\nray.init()\nprint(sys.argv[1:], __name__)"), "--timeout", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "both printed the same 1 lines" in done.stdout
    for row in (
        "wall time",
        "start-up",
        "processor time",
        "peak proportional set size",
        "share of calls that followed a pattern",
    ):
        assert row in done.stdout


def test_the_first_difference_is_shown_and_is_a_failure(script, with_stand_in):
    done = with_stand_in(script("import ray\nprint('same')\nprint(ray.__name__)"))
    assert done.returncode == 1
    shown = " ".join(done.stdout.split())
    assert "THE OUTPUT DIFFERS, first in line 2 of the driver: Ray ray rayshim rayshim" in shown


def test_a_program_that_fails_is_a_failure_with_its_reason(script, with_stand_in):
    done = with_stand_in(script("import ray\nraise ValueError('no such thing')"))
    assert done.returncode == 1
    assert "on Ray: the process ended with exit status 1" in done.stdout and "ValueError: no such thing" in done.stdout


def test_a_run_that_takes_too_long_is_ended(script, with_stand_in):
    done = with_stand_in("--timeout", "0.5", script("import threading\nthreading.Event().wait()"))
    assert done.returncode == 1 and "no result within 0.5 s" in done.stdout


def test_a_module_is_run_too(tmp_path, with_stand_in, monkeypatch):
    (tmp_path / "tool.py").write_text("import ray, sys\nprint(__name__, sys.argv[1:])")
    monkeypatch.chdir(tmp_path)
    done = with_stand_in("-m", "tool", "a")
    assert done.returncode == 0, done.stdout
    assert "printed the same" in done.stdout


def test_without_ray_it_says_so_and_runs_rayshim(script, monkeypatch):
    status, shown = alone(monkeypatch, script(CALLS))
    assert status == 0, shown
    assert "real Ray is not installed" in shown and "times better" not in shown


def test_calls_are_counted_and_those_in_patterns(script, monkeypatch):
    done = compare.run("rayshim", [script(CALLS)], math.inf)
    assert done["reason"] is None, done["log"]
    assert done["printed"] == "50\n"
    assert done["calls"] >= 50 and 0.5 < done["in_patterns"] <= 1
    assert 0 < done["start_up"] <= done["wall"] and done["cpu"] > 0 and done["peak_memory"] > 0


def test_without_rich_the_table_is_text(script, monkeypatch, capsys):
    for name in ("rich", "rich.console", "rich.table"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(compare, "find_spec", lambda name: None)
    assert compare.compare([script(CALLS)], math.inf, console()) == 0
    lines = capsys.readouterr().out.splitlines()
    assert next(line for line in lines if line.startswith("wall time")).endswith(" s")
    assert any(line.split() == ["rayshim"] for line in lines) and any("processor time" in line for line in lines)


def test_the_processor_time_of_other_processes_is_measured():
    watch = busy.Watch()
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 1: pass"], check=True)
    found = watch.others(own=0.0)
    assert 0 < found["others"] <= 1.1 and found["stolen"] >= 0
    assert watch.others(own=1e9)["others"] == 0


@pytest.mark.parametrize(
    "runs, words",
    [
        ([{"others": 0.02, "stolen": 0.0}], None),
        (
            [{"others": 0.02, "stolen": 0.0}, {"others": 0.4, "stolen": 0.0}],
            "other processes used up to 40% of its processors",
        ),
        ([{"others": 0.0, "stolen": 0.2}], "its host withheld up to 20% of them"),
    ],
)
def test_a_busy_machine_is_named_above_the_table(runs, words):
    said = busy.warning(runs)
    assert (said is None) == (words is None)
    assert words is None or (words in said and "processor time" in said)


@pytest.mark.parametrize(
    "arguments", [["nope.py"], ["-c", "1"], ["-"], ["--timeout", "soon", "a.py"], ["--timeout", "-1", "a.py"]]
)
def test_nothing_runs_after_a_wrong_argument(arguments, with_stand_in, tmp_path):
    (tmp_path / "a.py").write_text("open('started', 'w')")
    done = with_stand_in(*arguments)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and not done.stdout
    assert not list(tmp_path.rglob("started"))


def test_options_end_at_the_program():
    assert split_program(["--timeout", "3", "a.py", "--timeout"], command._compare_parser) == (
        ["--timeout", "3"],
        False,
        "a.py",
        ["--timeout"],
    )


@pytest.mark.parametrize("arguments", [[], ["--nonsense", "a.py"]])
def test_a_wrong_command_line(arguments, with_stand_in):
    done = with_stand_in(*arguments)
    assert done.returncode == 2 and done.stderr.startswith("rayshim compare: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "one, other, where",
    [
        ("a\nb\n", "a\nb\n", None),
        ("a\nb\n", "a\nc\n", ("line 2 of the driver", "b", "c")),
        ("a\n", "a\nc\n", ("line 2 of the driver", None, "c")),
        # Workers' lines come when they come, from processes with numbers of their own.
        ("(A pid=1) x\nend\n(A pid=2) y\n", "\x1b[36m(A pid=8)\x1b[0m y\n(A pid=9) x\nend\n", None),
        ("(A pid=1) x\n(A pid=1) x\n", "(A pid=8) x\n", ("a worker's line", "(A) x", None)),
        ("", "(A pid=8) x\n", ("a worker's line", None, "(A) x")),
    ],
)
def test_what_was_printed_is_compared(one, other, where):
    assert first_difference(one, other) == where
