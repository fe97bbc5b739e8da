"""The measure of concurrent loops: its counts, its ratios and its rule, on runs that are made up; and that the programs run."""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("rich")

from benchmarks import pace, pace_summary, publish
from benchmarks.pace_programs import ALL_SIDES, LOOPS, PROGRAMS, PaceSide, Program

sys.path.insert(0, str(LOOPS))
import counts  # noqa: E402

sys.path.remove(str(LOOPS))


def measured(seconds, reason=None, **loops):
    """A run in which each loop made so many steps by the end of the first second and of the run."""
    return {
        "seconds": seconds,
        "loops": {name: {"1": first, "end": end} for name, (first, end) in loops.items()},
        "reason": reason,
    }


RAY = [measured(2.0, player=(50.0, 100), watcher=(20.0, 40), rare=(1.0, 2))] * 3


def summary(ours, arrivals=None, placement="isolated"):
    return pace_summary.summary({"ray": RAY, placement: ours, f"{placement}-arrival": arrivals or RAY}, placement)


def test_a_step_under_way_counts_by_the_part_of_its_time_that_has_passed():
    assert counts.counts([0.4, 0.8, 1.2], 1.6) == {"0.5": 1.25, "1": 2.5, "1.5": 3.0, "end": 3}
    assert counts.counts([], 0.7) == {"0.5": 0.0, "end": 0}


def test_a_loop_of_several_is_numbered_and_one_that_never_stepped_is_told(capsys):
    counts.tell(0.0, player=[[1.0], []], driver=[])
    told = json.loads(capsys.readouterr().out)["loops"]
    assert {name: found["end"] for name, found in told.items()} == {"player 0": 1, "player 1": 0, "driver": 0}


def test_the_loop_that_is_furthest_behind_is_shown():
    row = summary([measured(2.0, player=(50.0, 100), watcher=(17.0, 38), rare=(1.0, 2))])
    assert row["first_second"] == {"loop": "watcher", "ratio": 0.85, "spread": 0.0}
    assert row["whole"] == {"loop": "watcher", "ratio": 0.95, "spread": 0.0}
    assert row["met"] is True


def test_a_starved_loop_does_not_meet_the_rule_though_it_makes_up_for_it_later():
    row = summary([measured(2.0, player=(50.0, 100), watcher=(15.0, 40), rare=(1.0, 2))])
    assert row["whole"]["ratio"] == 1.0 and row["first_second"]["ratio"] == 0.75 and row["met"] is False


def test_the_same_steps_in_twice_the_time_are_half_the_progress():
    row = summary([measured(4.0, player=(50.0, 100), watcher=(20.0, 40), rare=(1.0, 2))])
    assert row["whole"]["ratio"] == 0.5 and row["met"] is False


def test_loops_of_few_steps_are_not_compared():
    assert summary([measured(2.0, player=(50.0, 100), watcher=(20.0, 40), rare=(0.0, 0))])["met"] is True


def test_one_bad_run_of_three_is_not_the_median():
    good, bad = (
        measured(2.0, player=(50.0, 100), watcher=(20.0, 40), rare=(1.0, 2)),
        measured(2.0, player=(5.0, 10), watcher=(2.0, 4), rare=(0.0, 0)),
    )
    assert summary([good, bad, good])["whole"]["ratio"] == 1.0


@pytest.mark.parametrize("seconds, met", [(2.39, True), (2.41, False)])
def test_order_may_take_a_tenth_and_a_fifth_of_a_second_more_than_arrival(seconds, met):
    steps = {"player": (50.0, 150), "watcher": (20.0, 60), "rare": (1.0, 2)}
    assert summary([measured(seconds, **steps)], [measured(2.0, **steps)])["met"] is met


def test_a_run_that_did_not_end_does_not_meet_the_rule_and_is_said():
    row = summary([{"reason": "no result within 9 s"}])
    assert row["met"] is False and row["reasons"] == ["isolated: no result within 9 s"]
    assert pace_summary.cells("apex", row)[2:6] == ["-", "-", "1.00 ±0% player", "failed"]


def test_inline_is_timed_and_nothing_is_required_of_it():
    row = pace_summary.summary(
        {"ray": RAY, "inline": [measured(9.0, player=(0.0, 0), watcher=(0.0, 0), rare=(0.0, 0))]}, "inline"
    )
    assert row["met"] is None and row["first_second"] is None and row["seconds"] == 9.0


def test_a_program_that_cannot_end_inline_is_not_run_there_and_the_table_says_so():
    inline = next(side for side in ALL_SIDES if side.placement == "inline")
    assert inline.runs(PROGRAMS["a3c"]) and not inline.runs(PROGRAMS["muzero"])
    state = {"cores": 2, "processor": "P", "memory": 1 << 30, "system": "Linux-6.1-x", "python": "3.11", "versions": {}}
    state |= {"revision": None, "modified": None, "load": 0.0}
    program = {"name": "muzero", "not_inline": "it waits", "runs": {}, "rows": [summary(RAY)]}
    told = publish.section("pace", {"machine": state, "programs": [program]})
    assert "| muzero | isolated | 1.00 ±0% player |" in told and "muzero is not run inline: it waits" in told


def test_sides_take_turns_and_one_that_failed_is_not_run_again(monkeypatch):
    asked = []

    def run(program, side, limit, path):
        asked.append(side.name)
        return {"reason": "broken" if side.name == "b" else None}

    monkeypatch.setattr(pace, "run_once", run)
    sides = [PaceSide(name, (), {}) for name in "abc"]
    runs = pace.run_program(Program("made-up", "", "nothing"), sides, 2, 1.0, "nowhere")
    assert asked == ["a", "b", "c", "c", "a"] and len(runs["b"]) == 1


@pytest.mark.parametrize("script", sorted({program.script for program in PROGRAMS.values()}))
def test_a_program_is_an_ordinary_ray_program(script):
    source = (LOOPS / f"{script}.py").read_text()
    assert "\nimport ray\n" in source and "rayshim" not in source.split('"""')[2]


def test_a_program_tells_its_progress_on_rayshim():
    done = subprocess.run(
        [sys.executable, "-m", "rayshim", "--ordering", "arrival", *PROGRAMS["stragglers-slow"].command],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["loops"]["driver"]["end"] == 400 and len(told["loops"]) == 7
