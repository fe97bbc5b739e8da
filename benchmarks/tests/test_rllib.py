"""The measure of Ray's libraries: its ratios, on runs that are made up."""

import pytest

pytest.importorskip("rich")

from benchmarks import rllib
from benchmarks.sides import Side

STEPS, SECONDS = rllib.ROWS["impala"], rllib.ROWS["ppo"]


def measured(row, *values, returns=(1.0,)):
    return [{row.figure: value, "returns": list(returns), "reason": None} for value in values]


def test_a_ratio_above_one_is_rayshim_being_faster_in_times_and_in_rates():
    times = rllib.summary(
        SECONDS, {"ray": measured(SECONDS, 2.0, 4.0, 3.0), "rayshim": measured(SECONDS, 1.0, 9.0, 1.5)}
    )
    assert times["ratio"] == 2.0 and times["same"] is True
    rates = rllib.summary(STEPS, {"ray": measured(STEPS, 100.0), "rayshim": measured(STEPS, 300.0, returns=[2.0])})
    assert rates["ratio"] == 3.0 and rates["same"] is False


def test_with_seeds_runs_of_one_seed_are_compared_and_the_last_returns_are_listed():
    row = rllib.chosen(rllib.ROWS["ppo"], True, 7)
    assert row.seeds and row.arguments == ("PPO", "--iterations", "7")
    first, second = (measured(row, 1.0, returns=[number, 20.0 + number])[0] for number in (1, 2))
    found = rllib.summary(row, {"ray": [first, second], "rayshim": [first, second]})
    assert found["same"] is True and found["last"] == {"ray": [21.0, 22.0], "rayshim": [21.0, 22.0]}
    assert rllib.notes(found)[0] == "ppo, ray: last return of each seed 21, 22"
    assert rllib.summary(row, {"ray": [first, second], "rayshim": [second, first]})["same"] is False
    assert rllib.chosen(rllib.ROWS["start"], True, 7) == rllib.ROWS["start"]


def test_a_failed_run_leaves_its_side_without_a_figure_and_is_told():
    found = rllib.summary(SECONDS, {"ray": [{"reason": "it ended"}], "rayshim": measured(SECONDS, 1.0)})
    assert found["ratio"] is None and found["reasons"] == ["ray: it ended"]
    assert rllib.cells(found)[1:4] == ["failed", "1 s", ""]


def test_sides_take_turns_and_one_that_failed_is_not_run_again(tmp_path, monkeypatch):
    (tmp_path / "tuner.py").write_text(
        "import os, json; print('noise'); print(json.dumps({'seconds': 1.0, 'returns': [os.environ['WHO']]}))"
    )
    monkeypatch.setattr(rllib, "PROGRAMS", tmp_path)
    sides = [
        Side(name=who, title=who, module="json", distribution="json", environment={"WHO": who}, launcher=launcher)
        for who, launcher in (("good", ()), ("bad", ("-c", "raise SystemExit(3)")))
    ]
    order = []
    runs = rllib.run_row(rllib.ROWS["tuner"], sides, 2, 60, tmp_path, lambda side: order.append(side.name))
    assert order == ["good", "bad", "bad", "good"]
    assert [run["returns"] for run in runs["good"]] == [["good"], ["good"]]
    assert len(runs["bad"]) == 1 and "3" in runs["bad"][0]["reason"]


def test_its_results_are_published_as_a_table():
    from benchmarks import machine, publish

    row = rllib.summary(SECONDS, {"ray": measured(SECONDS, 2.0), "rayshim": measured(SECONDS, 1.0)})
    found = {"machine": machine.describe(), "settings": {"repeats": 1}, "rows": [row]}
    assert "| PPO, CartPole, an iteration | 2 s | 1 s | 2 | 1.1 | same |" in publish.section("rllib", found)
