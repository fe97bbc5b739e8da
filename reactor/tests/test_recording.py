"""A recording prints itself, survives JSON, and refuses what cannot be."""

import json

import pytest
from reactor.recording.graph import plan_of
from reactor.recording.patterns import Divergence, Operation, Pattern, Recording, Result, Source, is_typed


def recording():
    step = Operation(
        "Env#3", "step", "train.py:41", (Source("value", layout="int", bytes=8),), (Result("float32[4]", 16),), 4
    )
    learn = Operation(
        "Learner", "learn", "train.py:42", (Source("operation", 0, 0), Source("put", -1, 2)), (Result(),), 5
    )
    pattern = Pattern("driver", (step, learn), "get", 10, 0.5, 20, 10, (Source("operation", 0, 1),), "train.py:43")
    divergence = Divergence(
        "driver", "step.remote on Env#3", "learn.remote on Learner", "a.py:41", "a.py:47", "other actor", 2
    )
    return Recording((pattern,), {(0, 0): 9}, (divergence,), {"bytes_typed": 240})


def test_survives_json():
    data = json.loads(json.dumps(recording().to_dict()))
    assert Recording.from_dict(data) == recording()


def test_prints_each_operation_with_its_site_and_where_its_arguments_come_from():
    text = str(recording())
    assert "#0 Env#3.step(int) -> float32[4]   train.py:41" in text
    assert "#1 Learner.learn(#0, put #2 of the pattern before) -> ?   train.py:42" in text
    assert "driver: 2 operations, then get at train.py:43; ran 10 times" in text
    assert "[0] followed [0] 9 times" in text


def test_a_divergence_prints_both_places():
    text = str(recording().divergences[0])
    assert (
        text
        == "a.py:41 recorded step.remote on Env#3; a.py:47 now learn.remote on Learner (other actor), taken 2 times"
    )


def test_a_put_stores_its_source():
    put = Operation("put", "", "a.py:1", (Source("value", layout="float32[8]", bytes=32),))
    assert put.is_put and put.name == "put" and put.results == (Result("float32[8]", 32),)


def test_calls_of_a_pattern_are_its_operations_without_puts():
    put, call = Operation("put", "", "a.py:1"), Operation("task:f", "", "a.py:2")
    pattern = Pattern("driver", (put, call, call), runs=5)
    assert (pattern.calls, pattern.runs) == (2, 5)


@pytest.mark.parametrize("layout, typed", [("int", True), ("(float32[4], bool)", True), ("pickle", False), ("", False)])
def test_layouts_that_travel_typed(layout, typed):
    assert is_typed(layout) == Source("value", layout=layout).typed == Result(layout).typed == typed


def test_impossible_sources_are_refused():
    with pytest.raises(ValueError, match="Source of kind 'file': the kinds are operation, put, value, outside"):
        Source("file")
    with pytest.raises(ValueError, match="Source in pattern 1"):
        Source("operation", 1, 0)
    with pytest.raises(ValueError, match="needs the index of its operation"):
        Source("put")


def test_the_plan_of_a_pattern_says_which_operation_waits_for_which():
    operations = (
        Operation("put", "", "train.py:1", (Source("value", layout="float32[4]"),)),
        Operation("Env#0", "step", "train.py:2", (Source("put", 0, 0),), (Result(), Result())),
        Operation("task:f", "", "train.py:3", (Source("operation", 0, 1, 1), Source("operation", -1, 0)), (Result(),)),
        Operation("Env#0", "step", "train.py:4", (), (Result(),)),
    )
    assert str(plan_of(Pattern("driver", operations))).splitlines() == [
        "#   level  worker  reaction    arguments                        waits for",
        "#0  0      0       put         float32[4]",
        "#1  1      1       Env#0.step  #0                               #0",
        "#2  2      2       task:f      #1[1], #0 of the pattern before  #1",
        "#3  2      1       Env#0.step                                   #1",
    ]
