"""The report counts calls, bytes and divergences; the recorded graph draws itself."""

import json

import pytest
from reactor.recording.patterns import Divergence, Operation, Pattern, Recording, Result, Source

import rayshim as ray
from rayshim.recording.reporting import RecordedGraph, Report

DIVERGENCE = Divergence(
    "driver", "step.remote on Env#3", "learn.remote on Learner", "t.py:41", "t.py:47", "other actor", 3
)


COUNTS = {"patterns": 1, "pattern_runs": 10, "calls_total": 20, "calls_in_patterns": 18, "wakes": 20, "sleeps": 10}


def recording():
    put = Operation("put", "", "t.py:1", (Source("value", layout="float32[4]", bytes=16),))
    step = Operation("Env#0", "step", "t.py:2", (Source("value", layout="pickle", bytes=100),), (Result("int", 8),), 1)
    pattern = Pattern("driver", (put, step, step), "get", 10, 0.5, 20, 10)
    return Recording((pattern,), {(0, 0): 9}, (DIVERGENCE,))


def test_prints_as_a_short_table():
    lines = str(Report({**COUNTS, "divergences": [DIVERGENCE]})).splitlines()
    assert len(lines) == 9
    assert lines[2].split() == ["followed", "a", "pattern", "18", "(90.0%)"]
    assert (
        lines[-1]
        == "  t.py:41 recorded step.remote on Env#3; t.py:47 now learn.remote on Learner (other actor), taken 3 times"
    )


def test_what_was_served_by_arrival_is_listed():
    report = Report({"arrivals": [{"what": "Store.get called by the driver", "times": 2}]})
    assert report.to_dict()["arrivals"] == [{"what": "Store.get called by the driver", "times": 2}]
    assert "in arrival order" in str(report) and "Store.get called by the driver" in str(report)


def test_a_run_without_calls():
    assert "0 (0.0%)" in str(Report({})) and Report({}).to_dict()["divergences"] == []


def test_its_dict_makes_the_same_report_again():
    counted = Report({**COUNTS, "divergences": [DIVERGENCE]}).to_dict()
    assert Report(json.loads(json.dumps(counted))).to_dict() == counted


def test_an_unknown_count_is_refused():
    with pytest.raises(ValueError, match=r"unknown keys \['replays'\]\. The keys are patterns"):
        Report({"replays": 1})


def test_the_recorded_graph_draws_itself():
    graph = RecordedGraph(recording(), {"Env#0.step": 0.25})
    assert "Env#0.step   t.py:2   40/s · 50%" in str(graph) == graph.text()
    assert graph.mermaid().startswith("flowchart LR") and graph.dot(fold=None).startswith("digraph")
    assert repr(graph) == "<RecordedGraph of 2 reactors, 3 reactions>"


def test_the_page_is_written_where_asked(tmp_path):
    pytest.importorskip("pygraphviz")
    path = tmp_path / "out.html"
    assert RecordedGraph(recording()).html(path) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["learn_patterns", "replay_plans"])
def test_patterns_are_not_learned_by_either_name_of_the_option(name):
    ray.init(placement="inline", **{name: False})
    try:
        with pytest.raises(RuntimeError, match=r"init\(learn_patterns=False\)"):
            ray.graph()
    finally:
        ray.shutdown()
