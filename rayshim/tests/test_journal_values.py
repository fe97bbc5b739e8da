"""A replay is compared with its journal: other values, more and fewer calls, other arguments of the program; an edit that changes nothing is none."""

import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager

import pytest

import rayshim
from rayshim.cli import main
from rayshim.journal import checking, files
from rayshim.tests.runs import outcome

PLACEMENTS = ["isolated", "packed", "inline"]


@pytest.fixture(autouse=True)
def nothing_found_before():
    checking.found = False
    yield
    checking.found = False


def scaled(ray, factor=1.0, times=4):
    @ray.remote
    class Scale:
        def scale(self, x):
            return x * factor

    @ray.remote
    def task(scale, x):
        return ray.get(scale.scale.remote(x))

    scale, value = Scale.remote(), 1.0
    for _ in range(times):
        value = ray.get(task.remote(scale, value))
    return value


def differences(program, path, capsys, **how):
    """What a replay of `program` says of the values of the journal at `path`."""
    capsys.readouterr()
    outcome(program, replay=path, **how)
    return capsys.readouterr().err


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_the_first_call_with_other_values_is_named_with_both(tmp_path, capsys, placement):
    outcome(scaled, record=tmp_path / "run", placement=placement)
    assert "values" not in differences(scaled, tmp_path / "run", capsys, placement=placement)
    assert not checking.found
    said = differences(lambda ray: scaled(ray, factor=3.0), tmp_path / "run", capsys, placement=placement)
    assert "first at Scale.scale of actor 0, call" in said or "first at Scale.scale of actor 0 (tag 2.1)" in said, said
    assert re.search(r"journal: scale\(1\.0\) -> 1\.0 \(\S+jsonl:\d+\)", said)
    assert "here:    scale(1.0) -> 3.0" in said
    assert checking.found


def test_other_arguments_and_other_errors_are_differences(tmp_path, capsys):
    def program(ray):
        @ray.remote
        def check(x):
            if x < 0:
                raise kind("negative")
            return x

        refs = [check.remote(x) for x in values]
        shown = []
        for ref in refs:
            try:
                shown.append(ray.get(ref))
            except (ValueError, KeyError) as error:
                shown.append(type(error).__name__)
        return len(shown)

    values, kind = (1, -2), ValueError
    outcome(program, record=tmp_path / "run")
    ran = {line["args"][0]: line for line in files.lines(tmp_path / "run") if "ran" in line}
    assert (ran["-2"]["value"], ran["-2"]["error"]) == (None, "ValueError: negative")
    assert (ran["1"]["value"], ran["1"]["error"]) == ("1", None)
    kind = KeyError
    said = differences(program, tmp_path / "run", capsys)
    assert "journal: check(-2) raises ValueError: negative" in said
    assert "here:    check(-2) raises KeyError: 'negative'" in said
    values, kind = (5, -2), ValueError
    said = differences(program, tmp_path / "run", capsys)
    assert "journal: check(1) -> 1" in said
    assert "here:    check(5) -> 5" in said


def test_calls_of_async_and_threaded_actors_are_compared(tmp_path, capsys):
    def program(ray):
        @ray.remote
        class Async:
            async def double(self, x):
                return factor * x

        @ray.remote(max_concurrency=2)
        class Threads:
            def double(self, x):
                return factor * x

        actors = Async.remote(), Threads.remote()
        return len(ray.get([actor.double.remote(x) for x in range(1, 4) for actor in actors]))

    factor = 2
    outcome(program, record=tmp_path / "run")
    assert "values" not in differences(program, tmp_path / "run", capsys)
    factor = 3
    said = differences(program, tmp_path / "run", capsys)
    assert "journal: double(1) -> 2" in said
    assert "here:    double(1) -> 3" in said


def test_a_task_that_makes_fewer_calls_is_named(tmp_path, capsys):
    def program(ray):
        @ray.remote
        def part(x):
            return x

        @ray.remote
        def whole():
            return len([part.remote(x) for x in range(times)]) and None

        return ray.get(whole.remote())

    times = 3
    outcome(program, record=tmp_path / "run")
    times = 2
    said = differences(program, tmp_path / "run", capsys)
    assert "first at task whole" in said
    assert "after 2 of its 3 calls" in said


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("of_task", [False, True], ids=["of the driver", "of a task"])
def test_more_calls_than_in_the_journal_are_refused(tmp_path, placement, of_task):
    def program(ray):
        @ray.remote
        class Echo:
            def same(self, x):
                return x

        @ray.remote
        def several(one, other):
            return ray.get(other.same.remote(one.same.remote(1))) if more else ray.get(other.same.remote(1))

        one, other = Echo.remote(), Echo.remote()
        ray.get([one.same.remote(1), other.same.remote(2)])
        if of_task:
            return ray.get(several.remote(one, other))
        # The second takes the first one's ref: it does not begin before that has ended.
        return ray.get(other.same.remote(one.same.remote(3))) if more else 1

    more = False
    outcome(program, record=tmp_path / "run", placement=placement)
    more = True
    with pytest.raises(
        rayshim.exceptions.ReplayError if not of_task else Exception, match="no longer matches its journal"
    ):
        outcome(program, replay=tmp_path / "run", placement=placement)


PROGRAM = """
import os, ray

@ray.remote
class A:
    def f(self, x):
        return x * float(os.environ.get("LR", 1))

def train(a):
    value = 1.0
    for _ in range(3):
        (ref,), _ = ray.wait([a.f.remote(value)])
        value = ray.get(ref, timeout=200)
    return value

ray.init(num_cpus=2)
print(train(A.remote()))
"""


@contextmanager
def replayed(folder, program, *args, **variables):
    """Records PROGRAM once in `folder`, and yields (status, stderr) of a replay as `program`."""
    run = [sys.executable, "-m", "rayshim"]
    path = folder / "program.py"
    if not (folder / "run").exists():
        path.write_text(PROGRAM)
        subprocess.run([*run, "--record", "run", "program.py"], cwd=folder, check=True, capture_output=True)
    path.write_text(program)
    done = subprocess.run(
        [*run, "--replay", "run", "program.py", *args],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    yield done.returncode, done.stderr


def test_the_command_ends_with_status_3_for_other_values_and_0_after_an_edit_that_changes_nothing(tmp_path):
    with replayed(tmp_path, PROGRAM, LR="2") as (status, said):
        assert (status, "first at A.f of actor 0" in said) == (3, True), said
    moved = PROGRAM.replace("def train(a):", "def train(a):\n    # a comment\n")
    with replayed(tmp_path, "# a comment\n\n" + moved) as (status, said):
        assert (status, "differ" in said) == (0, False), said
    with replayed(tmp_path, PROGRAM, "--rounds", "7") as (status, said):
        assert (status, "has the arguments ['--rounds', '7']; in the recorded run it had []" in said) == (0, True), said
    with replayed(tmp_path, PROGRAM + "raise SystemExit(5)\n", LR="2") as (status, said):
        assert (status, "first at A.f of actor 0" in said) == (5, True), said


def test_diff_shows_what_a_call_has_raised(tmp_path, capsys):
    def program(ray):
        @ray.remote
        def check(x):
            if x == bad:
                raise ValueError("bad")
            return x

        return len([ray.wait([check.remote(x)]) for x in range(3)])

    for bad in (7, 1):
        outcome(program, record=tmp_path / str(bad))
    assert main(["diff", str(tmp_path / "7"), str(tmp_path / "1")]) == 1
    said = capsys.readouterr().out
    assert "check(1) -> 1, called at" in said
    assert "check(1) raises ValueError: bad, called at" in said


def test_a_journal_of_another_format_is_refused(tmp_path):
    outcome(lambda ray: scaled(ray, times=1), record=tmp_path / "run")
    run = files.read_run(tmp_path / "run")
    files.write_run(tmp_path / "run", {**run, "format": run["format"] - 1})
    with pytest.raises(ValueError, match="another version of rayshim"):
        rayshim.init(replay=tmp_path / "run")
    assert json.loads((tmp_path / "run" / "run.json").read_text())["format"] == run["format"] - 1


def test_with_a_seed_placement_groups_have_the_same_ids_and_order_in_sets():
    def ids(seed):
        rayshim.init(num_cpus=2, seed=seed, placement="inline")
        try:
            groups = [rayshim.util.placement_group([{"CPU": 0.1}]) for _ in range(4)]
            return [group.id.hex() for group in groups], [hash(group) for group in groups]
        finally:
            rayshim.shutdown()

    found = ids(1)
    assert ids(1) == found
    assert len(set(found[0])) == len(set(found[1])) == 4
    assert not set(ids(2)[0]) & set(found[0])
