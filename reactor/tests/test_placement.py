"""Which actors share a worker, from plain data."""

import pytest
from reactor.placement import Measured, group, least_loaded, measured, unreturned
from reactor.recording.patterns import Operation, Pattern, Recording, Source, Timing


def loads(found, seconds):
    return [sum(seconds[actor] for actor in actors) for actors in found]


def test_every_actor_is_in_one_group():
    seconds = {f"A#{k}": k * 0.1 for k in range(17)}
    found = group(Measured(seconds), 4)
    assert sorted(actor for actors in found for actor in actors) == sorted(seconds)


def test_groups_take_about_the_same_time():
    seconds = {"long": 6.0, **{f"A#{k}": 1.0 for k in range(6)}}
    assert loads(group(Measured(seconds), 2), seconds) == [6.0, 6.0]


def test_actors_that_send_each_other_much_are_together():
    seconds = {name: 1.0 for name in "abcd"}
    found = group(Measured(seconds, {("a", "d"): 1000, ("b", "c"): 10, ("a", "b"): 5}), 2)
    assert found == [["a", "d"], ["b", "c"]]


def test_time_goes_before_traffic():
    seconds = {"a": 5.0, "b": 5.0}
    assert group(Measured(seconds, {("a", "b"): 1 << 30}), 2) == [["a"], ["b"]]


def test_the_direction_of_traffic_does_not_matter():
    seconds = {name: 1.0 for name in "abcd"}
    assert group(Measured(seconds, {("d", "a"): 3, ("a", "d"): 3, ("a", "b"): 5, ("c", "b"): 1}), 2) == [
        ["a", "d"],
        ["b", "c"],
    ]


def test_actors_that_were_never_called_are_spread():
    assert [len(actors) for actors in group(Measured({f"A#{k}": 0.0 for k in range(6)}), 3)] == [2, 2, 2]


def test_more_workers_than_actors_leave_some_empty():
    assert group(Measured({"a": 1.0}), 3) == [["a"], [], []]


def test_no_workers_are_refused():
    with pytest.raises(ValueError, match="at least one"):
        group(Measured({"a": 1.0}), 0)


def test_a_new_actor_goes_to_the_worker_with_the_fewest():
    assert least_loaded([3, 1, 1]) == 1


def test_a_recording_tells_time_and_traffic_of_its_actors():
    source = Source("operation", 0, 0, bytes=64)
    pattern = Pattern(
        "driver",
        (
            Operation("Env#0", "step", "a.py:1", results=()),
            Operation("Learner#0", "learn", "a.py:2", sources=(source,), results=()),
        ),
        runs=2,
    )
    load = measured(
        Recording(
            (pattern,),
            measured={
                "Learner#0.learn": Timing(2, 3.0),
                "Env#0.step": Timing(2, 1.0),
                "Env#0.reset": Timing(1, 0.5),
                "task:f.call": Timing(1, 9.0),
            },
        )
    )
    assert load.seconds == {"Env#0": 1.5, "Learner#0": 3.0}
    assert set(load.traffic) <= {("Env#0", "Learner#0")}


def test_of_ten_classes_the_tenth_actor_comes_after_the_second():
    recording = Recording(measured={f"A#{k}.f": Timing(1, 1.0) for k in (10, 2)})
    assert list(measured(recording).seconds) == ["A#2", "A#10"]


def test_an_actor_whose_calls_did_not_end_is_in_no_group():
    pattern = Pattern(
        "driver",
        (
            Operation("A#0", "__init__", "a.py:1"),
            Operation("A#0", "run", "a.py:2"),
            Operation("A#1", "get", "a.py:3"),
            Operation("task:f", "call", "a.py:4"),
        ),
    )
    recording = Recording((pattern,), measured={"A#0.get": Timing(3, 1.0), "A#1.get": Timing(1, 1.0)})
    assert unreturned(recording) == ["A#0"]
    assert group(measured(recording), 1, unreturned(recording)) == [["A#1"]]
