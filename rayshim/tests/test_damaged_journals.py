"""Records that are damaged, or end before their run did: told with file and line, never a hang."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap

import pytest

import rayshim
from rayshim.cli import main
from rayshim.journal import files, replaying
from rayshim.tests import journal_mutants
from rayshim.tests.runs import outcome

ReplayError = rayshim.exceptions.ReplayError


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("records") / "run"
    return path, journal_mutants.record(path)


@pytest.fixture
def copy(recorded, tmp_path):
    shutil.copytree(recorded[0], tmp_path / "copy")
    return tmp_path / "copy"


def largest(path):
    """The file of the record with the most in it."""
    return max(path.glob("*.jsonl"), key=os.path.getsize)


def refused(path):
    """The text of the ReplayError that `init` raises."""
    with pytest.raises(ReplayError) as caught:
        rayshim.init(replay=path)
    assert not rayshim.is_initialized()
    return str(caught.value)


@pytest.mark.parametrize("seed", range(1000, 1024))
def test_a_mutant_is_replayed_or_told(recorded, seed, tmp_path, monkeypatch):
    monkeypatch.setattr(replaying, "_QUIET", 5.0)
    monkeypatch.setattr(replaying, "REPLAY_SECONDS", 5.0)
    journal_mutants.mutant(recorded[0], tmp_path / "mutant", random.Random(seed))
    journal_mutants.replayed(tmp_path / "mutant", recorded[1])


@pytest.mark.parametrize(
    "change",
    [
        lambda line: line.replace(b"[", b"(", 1),
        lambda line: line[:20] + b"\n",
        lambda line: b"",
        lambda line: line + line,
        lambda line: b"\xff\xfe" + line,
    ],
    ids=["another letter", "a part", "lost", "twice", "no text"],
)
def test_a_changed_line_is_named(copy, change):
    file = largest(copy)
    lines = file.read_bytes().splitlines(keepends=True)
    lines[2] = change(lines[2])
    file.write_bytes(b"".join(lines))
    told = refused(copy)
    assert any(f"{file}:{number} was changed, or lines before it are missing: " in told for number in (3, 4))
    assert "Record the run again" in told


def test_a_truncated_file_is_named(copy):
    file = largest(copy)
    lines = file.read_bytes().splitlines(keepends=True)
    for rest in (lines[:-1], [*lines[:-1], lines[-1][:-3]]):
        file.write_bytes(b"".join(rest))
        assert (
            f"{file}:{len(lines) - 1} is the last line, but the file should have {len(lines)} lines according to end.json: the file is truncated"
            in refused(copy)
        )


def test_a_missing_file_and_one_too_many_are_named(copy):
    file = largest(copy)
    file.rename(copy / "other.jsonl")
    assert f"{file} is missing" in refused(copy)
    shutil.copy(copy / "other.jsonl", file)
    assert f"{copy / 'other.jsonl'} is not part of this journal" in refused(copy)


def test_what_init_was_told_is_checked_too(copy):
    run = json.loads((copy / "run.json").read_text())
    (copy / "run.json").write_text(json.dumps({**run, "seed": run["seed"] + 1}))
    assert f"{copy / 'run.json'} was changed: its checksum is wrong" in refused(copy)
    (copy / "run.json").write_text("[]")
    assert f"{copy / 'run.json'} is not a JSON object: []" in refused(copy)
    (copy / "run.json").write_text("{")
    assert f"{copy / 'run.json'} is not JSON" in refused(copy)


@pytest.mark.parametrize(
    "entry, fault",
    [
        ({"began": [1], "actor": 5, "life": 0}, r"its 'actor' is 5"),
        ({"began": [1 << 70], "actor": None, "life": None}, r"its 'began' is \[11"),
        ({"began": "x", "actor": None, "life": None}, r"its 'began' is 'x'"),
        ({"began": [1], "actor": None}, r"it has no 'life'"),
        (
            {"asked": [], "n": 0, "kind": "wait", "site": "x", "by": "f", "answer": [0, 0]},
            r"its 'answer' to 'wait' is \[0, 0\]",
        ),
        ({"asked": [], "n": 0, "kind": "get", "site": "x", "by": "f", "answer": 7}, r"its 'answer' to 'get' is 7"),
        ({"nothing": 1}, r"its kind is unknown"),
    ],
    ids=lambda given: str(given)[:40],
)
def test_a_line_that_cannot_be_is_named(tmp_path, entry, fault):
    files.write_run(tmp_path, {"format": 5, "seed": 1, "ordering": "logical"})
    files.Writer(tmp_path / "0-1.jsonl").write(entry)
    with pytest.raises(ReplayError, match=rf"0-1.jsonl:1 is not a line of a journal \({fault}"):
        list(files.lines(tmp_path))


def test_diff_tells_of_damage_too(copy, recorded, capsys):
    file = largest(copy)
    file.write_bytes(file.read_bytes().replace(b"a", b"b", 1))
    with pytest.raises(ReplayError, match="was changed"):
        main(["diff", str(recorded[0]), str(copy)])


PROGRAM = """
    import os, sys, time
    import rayshim as ray

    @ray.remote
    class Store:
        def add(self, n):
            return n

    @ray.remote
    class Loop:
        async def add(self, store, n):
            return await store.add.remote(n)

    @ray.remote(max_concurrency=2)
    class Threads:
        def add(self, store, n):
            return ray.get(store.add.remote(n))

    @ray.remote
    def task(store, n):
        return ray.get(store.add.remote(n))

    def program(least):
        store, loop, threads = Store.remote(), Loop.remote(), Threads.remote()
        made = {"actor": lambda n: store.add.remote(n), "task": lambda n: task.remote(store, n), "loop": lambda n: loop.add.remote(store, n),
                "threads": lambda n: threads.add.remote(store, n)}[sys.argv[2]]
        for n in range(40):
            ray.get(made(n))
            if n >= least:
                print(n, flush=True)
                while sys.argv[1] == "record":
                    time.sleep(0.01)
"""


@pytest.mark.parametrize("what", ["actor", "task", "loop", "threads"])
def test_the_record_of_a_run_that_was_killed_is_replayed_to_its_end(tmp_path, what):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(PROGRAM)
        + "\nray.init(num_cpus=2, logging_level='ERROR', **{sys.argv[1]: 'run'})\nprogram(3 if sys.argv[1] == 'record' else 0)\n"
    )
    recording = subprocess.Popen(
        [sys.executable, script, "record", what], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    )
    assert recording.stdout.readline() == "3\n"
    recording.send_signal(signal.SIGKILL)
    recording.wait()
    recording.stdout.close()
    again = subprocess.run(
        [sys.executable, script, "replay", what], cwd=tmp_path, capture_output=True, text=True, timeout=100
    )
    assert again.stdout.split() == ["0", "1", "2", "3"], again.stderr
    assert again.returncode == 1
    last = again.stderr.strip().splitlines()[-1]
    assert last.startswith("rayshim.exceptions.ReplayError: the journal ends before the next call of the program")
    assert (
        f"The journal ends at {tmp_path}/run/" in last and "; the recorded run was killed before it had ended" in last
    )


def test_the_record_of_a_run_that_was_killed_ends_with_the_part_of_a_line(copy, recorded):
    (copy / "end.json").unlink()
    file = largest(copy)
    with open(file, "ab") as appended:
        appended.write(b'{"began": [1, 2')
    assert outcome(journal_mutants.program, replay=copy) == recorded[1]
