"""Options of `python -m rayshim` are checked before the program starts; a mistake is one sentence, with status 2."""

import json
import os
import sys

import pytest

from rayshim.tests.test_cli import start

PROGRAM = """
import os, sys
open(sys.argv[1] if len(sys.argv) > 1 else "started", "w").close()
import ray

@ray.remote
def double(x):
    return 2 * x

if __name__ == "__main__":
    ray.init(num_cpus=1, logging_level="ERROR")
    print(ray.get(double.remote(4)))
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "run.json").write_text("{")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "run.json").write_text(json.dumps({"format": 0, "sum": 0}))
    return tmp_path


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--graph", "missing/g.html"], "directory"),
        (["--graph", "full"], "full is a directory"),
        (["--graph", "g.svg"], ".mmd"),
        (["--graph", ""], "the path is empty"),
        (["--graph", "x" * 300 + ".txt"], "cannot be written"),
        (["--graph", "program.py/g.txt"], "does not exist"),
        (["--trace", "missing/t.json"], "does not exist"),
        (["--trace", "/proc/t.json"], "cannot be written"),
        (["--record", "full"], "is not empty"),
        (["--record", "program.py"], "is a file"),
        (["--record", "/proc/run"], "cannot be created"),
        (["--replay", "missing"], "is not the journal of a run"),
        (["--replay", "full"], "is not the journal of a run"),
        (["--replay", "damaged"], "cannot be read"),
        (["--replay", "old"], "cannot be read"),
        (["--placement", "isolatd"], "did you mean isolated?"),
        (["--placement", "ray"], "isolated, packed, inline, auto"),
        (["--patience", "soon"], "number of seconds"),
        (["--patience", "-1"], "number of seconds"),
        (["--patience", "nan"], "number of seconds"),
        (["--ordering", "locigal"], "did you mean logical?"),
        (["--ordering", "timed"], "add --timing FILE"),
        (["--timing", "a.timing"], "add --ordering timed"),
        (["--timing", "a.timing", "--ordering", "strict"], "--ordering timed instead of strict"),
        (["--timing", "missing/a.timing", "--ordering", "timed"], "does not exist"),
        (["--timing", "full", "--ordering", "timed"], "full is a directory"),
        (["--timing-seed", "1"], "add --ordering timed"),
        (["--timing-seed", "-1"], "is not an integer, 0 or more"),
        (["--plac", "packed"], "did you mean --placement?"),
        (["--grpah", "g.html"], "did you mean --graph?"),
        (["--record", "one", "--replay", "two"], "two"),
        (["-j"], "there is no option -j"),
    ],
)
def test_a_wrong_option_is_one_sentence_and_the_program_does_not_start(folder, arguments, words):
    before = sorted(folder.rglob("*"))
    done = start([*arguments, "program.py"], folder)
    assert done.returncode == 2 and not done.stdout, done
    assert words in done.stderr and done.stderr.count("\n") == 1 and "Traceback" not in done.stderr
    assert sorted(folder.rglob("*")) == before


def test_without_pygraphviz_only_a_page_is_refused(folder):
    (folder / "site").mkdir()
    (folder / "site" / "pygraphviz.py").write_text("raise ImportError('no library', name='pygraphviz')")
    path = os.pathsep.join([str(folder / "site"), *(os.path.abspath(p) for p in sys.path if p)])
    run = f"import sys; sys.path[:0] = {path.split(os.pathsep)!r}; from rayshim.cli import main; sys.exit(main(sys.argv[1:]))"
    import subprocess

    def start_with(graph):
        return subprocess.run(
            [sys.executable, "-c", run, "--graph", graph, "program.py"], cwd=folder, capture_output=True, text=True
        )

    done = start_with("g.html")
    assert done.returncode == 2 and "pip install 'rayshim[graph]'" in done.stderr and done.stderr.count("\n") == 1
    assert not (folder / "started").exists()
    done = start_with("g.mmd")
    assert done.returncode == 0 and (folder / "g.mmd").read_text().startswith("flowchart"), done.stderr


def test_reports_are_written_where_the_command_was_given(folder):
    (folder / "program.py").write_text(PROGRAM.replace("import ray\n", "import ray\nos.chdir('/')\n", 1))
    done = start(["--graph", "g.dot", "--trace", "t.json", "--record", "r", "program.py"], folder)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert "digraph" in (folder / "g.dot").read_text()
    assert json.loads((folder / "t.json").read_text()) and (folder / "r" / "end.json").exists()


def test_a_program_without_a_session_is_told_that_there_is_no_report(folder):
    (folder / "program.py").write_text("print(1)")
    done = start(["--graph", "g.dot", "--explain", "program.py"], folder)
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert "--explain, --graph had no effect" in done.stderr and not (folder / "g.dot").exists()


@pytest.mark.parametrize(
    "argument, words",
    [
        ("comapre", "did you mean `rayshim compare`?"),
        ("stauts", "did you mean `rayshim status`?"),
        ("version", "did you mean `rayshim --version`?"),
        ("xyzzy", "`rayshim --help` lists the commands"),
        ("logs", "rayshim writes no log files"),
        ("sub/nope", "can't open file"),
        ("nope.py", "can't open file"),
    ],
)
def test_a_mistyped_command_is_answered_by_the_one_that_was_meant(folder, argument, words):
    done = start([argument, "program.py"], folder)
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1


def test_options_of_a_command_come_after_its_name(folder):
    done = start(["--explain", "compare", "program.py"], folder)
    assert done.returncode == 2 and "come after its name" in done.stderr


def test_options_of_python_are_those_of_the_program(folder):
    (folder / "program.py").write_text(
        "import sys; print(sys.flags.optimize, sys.warnoptions, sys.flags.utf8_mode, sys.argv[1:])"
    )
    done = start(["-W", "ignore", "-OXutf8=1", "--placement", "inline", "program.py", "-W"], folder)
    assert done.stdout == "1 ['ignore'] 1 ['-W']\n", done.stderr


def test_an_interactive_session_follows_the_program(folder):
    done = start(["-i", "program.py"], folder, text="print(ray.get(double.remote(21)))\n1 / 0\nprint('on')\n")
    assert done.returncode == 0 and done.stdout == "8\n42\non\n", done.stderr
    assert "ZeroDivisionError" in done.stderr and "SystemExit" not in done.stderr


def test_an_interactive_session_follows_a_program_that_failed(folder):
    done = start(["-i", "-c", "x = 7\nraise KeyError(x)"], folder, text="print(x)\n1 / 0\n")
    assert done.returncode == 0 and done.stdout == "7\n"
    assert done.stderr.count("KeyError: 7") == 1 and "ZeroDivisionError" in done.stderr
