import json

import pytest

pytest.importorskip("torch")
pytest.importorskip("gymnasium")

from benchmarks import policies
from benchmarks.sides import SIDES

ARGUMENTS = ["--steps", "0.01", "--hidden", "16", "--seconds", "0.05", "--replicas", "2", "one-device", "coarse"]


def test_a_side_measures_each_policy_in_each_cell():
    found = policies.figures(SIDES["rayshim"], ARGUMENTS)
    assert [(one["step_ms"], one["hidden"], one["policy"]) for one in found] == [
        (0.01, 16, "one-device"),
        (0.01, 16, "coarse"),
    ]
    assert all(one["steps_per_second"] > 0 for one in found)


def test_the_winner_has_the_most_steps():
    found = [
        {"step_ms": step, "hidden": 16, "policy": name, "steps_per_second": speed}
        for step, name, speed in ((1, "fine", 5), (1, "coarse", 7), (2, "fine", 3), (2, "coarse", 1))
    ]
    assert policies.winners(found) == {(1, 16): "coarse", (2, 16): "fine"}
    assert [*policies.table("x", found).columns[-1].cells] == ["coarse", "fine"]


def test_results_are_written(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(policies, "RESULTS", tmp_path)
    line = {"step_ms": 1.0, "hidden": 16, "policy": "fine", "steps_per_second": 1234.0}
    monkeypatch.setattr(policies, "figures", lambda side, argv, tell: [line])
    assert policies.main(["fine", "--steps", "1", "--hidden", "16"]) == 0
    assert json.loads((tmp_path / "policies.json").read_text())["sides"] == {"rayshim": [line]}
    assert "1,234" in capsys.readouterr().out


@pytest.mark.parametrize("argv", [["corse"], ["--steps", "fast"]])
def test_wrong_arguments(argv, capsys):
    with pytest.raises(SystemExit):
        policies.arguments_from(argv)
    assert "no policy is called 'corse'" in (text := capsys.readouterr().err) or "are numbers with commas" in text
