"""The benchmark of the policy "saturate"."""

import json

import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

from benchmarks import saturate, saturate_race, saturate_tasks
from benchmarks.sides import SIDES

GRID = {
    "task": "Pendulum",
    "found": "samplers 1",
    "best": "samplers 2",
    "share": 0.96,
    "seconds": 31.0,
    "sampled": 1000.0,
    "updated": 64_000.0,
    "samplers_idle": 0.0,
    "learner_idle": 0.0,
    "machine_idle": 0.04,
}
RACE = {"sampled": 400.0, "updated": 102_400.0, "seconds_to_return": 12.0, "steps": 5000}


def test_a_contestant_prints_its_figures():
    (line,) = saturate.lines_of(
        SIDES["rayshim"],
        "-m",
        "benchmarks.saturate_race",
        "saturate",
        "--ratio",
        "8,256",
        "--goal=-1e9",
        "--limit",
        "40",
    )
    assert line["seconds_to_return"] > 0 and line["sampled"] > 0 and line["updated"] > 0 and line["setting"]


def test_a_process_that_fails_is_an_error():
    with pytest.raises(
        RuntimeError, match=r"saturate_race nobody ended with status 2:\n(.|\n)*invalid choice: 'nobody'"
    ):
        saturate.lines_of(SIDES["rayshim"], "-m", "benchmarks.saturate_race", "nobody")


def test_the_found_setting_is_compared_with_the_best_of_the_grid(monkeypatch):
    quickest = saturate_tasks.Setting(2, 16, 128, 256, 1)
    monkeypatch.setattr(
        saturate_tasks, "found", lambda task, seconds: (saturate_tasks.Setting(1, 16, 128, 256, 1), 30.0)
    )

    class Window:
        sampled = updated = samplers_idle = learner_idle = machine_idle = 0.5

        def __init__(self, setting):
            self.speed = 100 if setting == quickest else 90 if setting.samplers == 1 else 50

        def score(self, low, high):
            return self.speed

    monkeypatch.setattr(saturate_tasks, "measured", lambda task, setting, windows: [Window(setting)] * windows)
    line = saturate_tasks.compare("Pendulum", 60)
    assert line["share"] == pytest.approx(0.9) and line["best"] == str(quickest) and len(line["grid"]) == 48


def test_a_race_counts_from_the_first_update_to_the_return(monkeypatch):
    now = iter([0.0, 1.0, 2.0, 4.0])
    monkeypatch.setattr(saturate_race.time, "perf_counter", lambda: next(now))
    clock = saturate_race.Clock(goal=-10, limit=100)
    assert not clock.over(50, 0)
    assert not clock.over(100, 256, [-30] * 9)
    assert clock.over(300, 1256, [-1] * 10)
    assert clock.line() == {"sampled": 100.0, "updated": 500.0, "seconds_to_return": 4.0, "steps": 300}


def test_results_are_shown_and_written(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(saturate, "RESULTS", tmp_path)

    def lines(side, *command):
        if "sb3" in command:
            raise RuntimeError("no module stable_baselines3")
        if "benchmarks.saturate_tasks" in command:
            return [GRID]
        reached = None if "8,256" in command else 12.0
        return [{**RACE, "seconds_to_return": reached}]

    monkeypatch.setattr(saturate, "lines_of", lines)
    monkeypatch.setattr(saturate, "missing", lambda task: "no mujoco" if task == "Hopper" else None)
    assert saturate.main(["--tasks", "Pendulum,Hopper", "--race", "saturate,free,sb3", "--rounds", "2"]) == 0
    written = json.loads((tmp_path / "saturate.json").read_text())
    assert written["grid"] == [GRID] and len(written["race"]["saturate"]) == 2 and written["race"]["sb3"] == []
    text = capsys.readouterr().out
    assert "Hopper is left out: no mujoco" in text and "Stable-Baselines3 is left out: no module" in text
    assert "96.0%" in text and "102,400" in text and "12.0" in text and "not reached" in text


@pytest.mark.parametrize("argv", [["gird"], ["--tasks", "Pong"], ["--race", "sb4"], ["--task", "Pong"]])
def test_wrong_arguments(argv, capsys):
    with pytest.raises(SystemExit):
        saturate.arguments_from(argv)
    assert f"there is no {argv[-1]!r}; there are " in capsys.readouterr().err
