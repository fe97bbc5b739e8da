"""`rayshim timing`, and the options for timed order."""

import os
import re

import numpy as np
import pytest

from rayshim.cli.timing import printed
from rayshim.tests.test_cli import start
from rayshim.timing import file

PROGRAM = """
import sys
import ray

@ray.remote
class Counter:
    def __init__(self):
        self.n = 0
    def add(self, n):
        self.n = self.n * 3 + n
        return self.n

@ray.remote
def send(counter, n):
    sum(range(50_000))
    return ray.get(counter.add.remote(n))

if __name__ == "__main__":
    ray.init(num_cpus=2, logging_level="ERROR")
    counter = Counter.remote()
    refs = [send.remote(counter, n) for n in range(int(sys.argv[1]))]
    ray.get(refs)
    print("final", ray.get(counter.add.remote(0)))
    print("calls", len(refs))
    sys.exit(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)

    def of(*arguments, status=0):
        done = start(arguments, tmp_path)
        assert done.returncode == status, done
        return done

    return of


def timed(run, *arguments, **status):
    return run("--ordering", "timed", "--timing", "p.timing", *arguments, **status)


def calls(path):
    """{name: number of calls}"""
    timings = file.read(path)
    found = {}
    for i, name in enumerate(timings.names):
        found[name] = found.get(name, 0) + len(timings.of(i))
    return found


def test_the_options_measure_and_then_follow(run, tmp_path):
    first = timed(run, "program.py", "6")
    assert (
        f"this run was measured, 15 calls. Later runs with the timing file {tmp_path / 'p.timing'} have" in first.stderr
    )
    written = (tmp_path / "p.timing").read_bytes()
    second, third = (timed(run, "program.py", "6") for _ in range(2))
    assert second.stdout == third.stdout
    assert "measured" not in second.stderr
    assert (tmp_path / "p.timing").read_bytes() == written
    one, two = (timed(run, "--timing-seed", "1", "program.py", "6") for _ in range(2))
    assert one.stdout == two.stdout


def test_a_measured_run_that_fails_writes_no_file(run, tmp_path):
    (tmp_path / "fails.py").write_text(PROGRAM.replace("sys.exit(", "raise LookupError("))
    done = timed(run, "fails.py", "1", status=1)
    assert "the program ended with LookupError, so the timing file" in done.stderr
    assert not (tmp_path / "p.timing").exists()


def test_show_prints_a_row_for_each_method_and_the_size(run, tmp_path):
    timings = file.made({1: "step", 2: "step", 3: "[red]add\x1b[2J"}, {1: [[1000, 1000]], 2: [[4000]] * 2, 3: [[1]]})
    file.write(tmp_path / "p.timing", timings)
    shown = run("timing", "show", "p.timing").stdout
    row = next(line for line in shown.splitlines() if "step" in line)
    assert [word for word in row.split() if word[0].isdigit()] == ["2", "3", "4.000", "2.400", "4.000", "0.010"]
    assert "[red]add" in shown and "\x1b[2J" not in shown
    size = os.path.getsize(tmp_path / "p.timing")
    assert f"format {file.VERSION}, 4 calls, {size} bytes, {size / 4:.2f} bytes per call" in " ".join(shown.split())


def test_clear_deletes_timing_files_alone(run, tmp_path):
    file.write(tmp_path / "p.timing", file.made({}, {}))
    assert "p.timing deleted" in run("timing", "clear", "p.timing").stdout
    assert not (tmp_path / "p.timing").exists()
    assert "cannot be deleted" in run("timing", "clear", "p.timing", status=1).stderr
    assert "program.py is no timing file" in run("timing", "clear", "program.py", status=1).stderr
    assert (tmp_path / "program.py").exists()


def test_a_damaged_file_is_cleared_too(run, tmp_path):
    (tmp_path / "p.timing").write_bytes(file.MAGIC + b"1234")
    assert "damaged" in run("timing", "show", "p.timing", status=1).stderr
    run("timing", "clear", "p.timing")


def test_extend_adds_the_calls_that_the_file_has_not(run, tmp_path):
    timed(run, "program.py", "4")
    before = file.read(tmp_path / "p.timing")
    done = run("timing", "extend", "p.timing", "program.py", "9")
    assert "p.timing: 10 calls added to 11" in done.stdout
    assert calls(tmp_path / "p.timing") == {"driver": 1, "": 1, "send": 9, "add": 10}
    after = file.read(tmp_path / "p.timing")
    for i, number in enumerate(before.series):
        (j,) = np.flatnonzero(after.series == number)
        for old, new in zip(before.of(i), after.of(j), strict=False):
            assert (new[: len(old)] == old).all()
    assert timed(run, "program.py", "9").stdout == timed(run, "program.py", "9").stdout


def test_a_run_that_fails_extends_nothing(run, tmp_path):
    timed(run, "program.py", "2")
    written = (tmp_path / "p.timing").read_bytes()
    done = run("timing", "extend", "p.timing", "program.py", "3", "7", status=1)
    assert "ended with status 7; p.timing is as before" in done.stderr
    (tmp_path / "other.py").write_text("print(1)")
    done = run("timing", "extend", "p.timing", "other.py", status=1)
    assert "it has started no session" in done.stderr
    assert (tmp_path / "p.timing").read_bytes() == written


def test_spread_prints_a_value_of_each_seed(run, tmp_path):
    done = run("timing", "spread", "--seeds", "3", "--value", "final", "--seed", "1", "program.py", "5")
    assert re.findall(r"^\W*(\d+)\W+\d+\W*$", done.stdout, re.MULTILINE) == ["0", "1", "2"]
    assert "different value" in done.stdout and "median" in done.stdout
    assert os.listdir(tmp_path) == ["program.py"]


def test_spread_follows_the_file_that_it_is_given(run, tmp_path):
    timed(run, "program.py", "3")
    written = (tmp_path / "p.timing").read_bytes()
    done = run("timing", "spread", "--timing", "p.timing", "--seeds", "1", "program.py", "3")
    assert "median 3, from 3 to 3: spread 0" in " ".join(done.stdout.split())
    assert (tmp_path / "p.timing").read_bytes() == written


def test_spread_says_why_it_has_no_value(run):
    done = run("timing", "spread", "--seeds", "1", "--value", "loss", "program.py", "1", status=1)
    assert "has printed no number in a line that contains 'loss'" in done.stderr and "calls 1" in done.stderr
    done = run("timing", "spread", "--seeds", "1", "program.py", "1", "7", status=1)
    assert "in the measured run the program ended with status 7" in done.stderr


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], "no action given: show, clear, extend, spread"),
        (["shwo", "p.timing"], "did you mean show?"),
        (["show"], "FILE"),
        (["extend"], "FILE"),
        (["extend", "p.timing"], "no program given"),
        (["extend", "p.timing", "missing.py"], "there is no file 'missing.py'"),
        (["spread", "--seeds", "0", "program.py"], "is not a whole number above 0"),
        (["spread", "--seeds", "2"], "no program given"),
        (["spread", "-"], "must be a script"),
    ],
)
def test_a_mistake_is_one_sentence(run, arguments, words):
    done = run("timing", *arguments, status=2)
    assert words in done.stderr and done.stderr.count("\n") == 1 and not done.stdout


@pytest.mark.parametrize(
    "text, part, value",
    [
        ("return 1.5 after 3 steps\nloss 4\n", "return", 3),
        ("return 1\nreturn -2.5e-3\nreturn of nobody\n", "return", -0.0025),
        ("\x1b[36m(Learner pid=12)\x1b[0m loss .5\n", "loss", 0.5),
        ("(Learner pid=12) hello\n", "", None),
        ("1\n", "loss", None),
    ],
)
def test_the_value_is_the_last_number_of_the_last_line_with_the_text(text, part, value):
    assert printed(text, part) == value


def test_a_value_may_be_no_number():
    assert np.isnan(printed("loss nan\n", "loss"))


def test_a_session_of_several_programs_has_no_timed_order(run):
    done = run("start", "--head", "--ordering", "timed", status=1)
    assert "has no timed order" in done.stderr
