"""Average rounds: when each process runs which call, and what the longest path is; and their drawings."""

import itertools
import re
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reactor.draw import lanes
from reactor.recording.patterns import CREATION, Operation, Pattern, Recording, Source, Timing
from reactor.recording.rounds import main_rounds, round_of
from reactor.tests.recordings import recordings

CORES = 2


def step(k, *sources):
    return Operation(f"Env#{k}", "step", "t.py:3", sources)


def after(k):
    return Source("operation", 0, k)


def pattern(operations, own=0.0, wait=1.0, runs=10, caller="driver"):
    return Pattern(caller, tuple(operations), "get", runs, (own + wait) * runs, end_site="t.py:4", waited=wait * runs)


def a_second_each(*operations):
    return {o.qualified: Timing(1, 1.0) for o in operations}


def drawn(*operations, workers=(), **times):
    return round_of(pattern(operations, **times), a_second_each(*operations), dict(workers), CORES)


def names(steps):
    return [s.name for s in steps]


def test_a_path_goes_by_results_and_by_actors():
    one = drawn(step(0), step(1, after(0)), step(2), step(1))
    assert names(one.path) == ["Env#0.step", "Env#1.step", "Env#1.step"]
    assert one.work == 4.0
    assert [(s.start, s.end) for s in one.steps] == [(0, 1), (1, 2), (0, 1), (2, 3)]


def test_actors_of_one_worker_take_turns_but_need_not():
    one = drawn(step(0), step(1), workers={"Env#0": 0, "Env#1": 0})
    assert [(s.lane, s.start) for s in one.steps] == [("worker 0", 0), ("worker 0", 1)]
    assert len(one.path) == 1


def test_tasks_take_the_process_that_is_free_first():
    task = Operation("task:f", "", "t.py:3")
    assert [(s.lane, s.start) for s in drawn(task, task, task).steps] == [
        ("tasks 0", 0),
        ("tasks 1", 0),
        ("tasks 0", 1),
    ]


def test_calls_are_made_while_the_callers_own_code_runs():
    one = drawn(step(0), step(1), own=3.0)
    assert [s.start for s in one.steps] == [1.0, 2.0]
    assert (one.own, one.wait, one.total) == (3.0, 1.0, 4.0)


def test_creations_and_puts_take_no_time_and_are_no_calls():
    creation = Operation("Env#0", CREATION, "t.py:1")
    put = Operation("put", "", "t.py:2", (Source("value"),))
    one = drawn(creation, put, step(0, Source("put", 0, 1)))
    assert names(one.steps) == ["Env#0.step"]
    assert one.steps[0].start == 0.0


def test_only_patterns_of_the_driver_that_ran_again_and_take_time_are_main_rounds():
    short = pattern([step(2)], wait=1e-6)
    recording = Recording(
        (pattern([step(0)], runs=2), pattern([step(1)]), short, pattern([step(3)], caller="Env#9.run"))
    )
    assert [one.pattern for one in main_rounds(recording, CORES)] == [recording.patterns[1]]


@settings(max_examples=60, deadline=None)
@given(recordings(), st.integers(1, 3), st.data())
def test_no_process_does_two_things_at_once_and_no_call_runs_before_its_arguments(recording, cores, data):
    seconds = st.floats(0, 1, allow_nan=False)
    assert recording.patterns
    for one in recording.patterns:
        measured = {name: Timing(1, data.draw(seconds)) for name in a_second_each(*one.operations)}
        drawn = round_of(one, measured, {}, cores)
        called = [o for o in one.operations if not o.is_put and o.method != CREATION]
        assert names(drawn.steps) == [o.name for o in called]
        by_lane = defaultdict(list)
        for s in drawn.steps:
            by_lane[s.lane].append(s)
        assert all(a.end <= b.start for steps in by_lane.values() for a, b in itertools.pairwise(steps))
        ends = dict(zip(map(id, called), drawn.steps, strict=True))
        for o in called:
            needs = [one.operations[s.operation] for s in o.sources if s.kind == "operation" and s.pattern == 0]
            assert all(ends[id(o)].start >= ends[id(n)].end for n in needs if id(n) in ends)
        of_actors = defaultdict(float)  # the calls of an actor have to run one after the other
        for s in drawn.steps:
            of_actors[s.lane if "#" in s.lane else s] += s.end - s.start
        assert sum(s.end - s.start for s in drawn.path) >= max(of_actors.values(), default=0.0) - 1e-9
        assert all(a.end <= b.start for a, b in itertools.pairwise(drawn.path))


# ---- drawings


def test_a_line_for_each_process_shows_its_calls():
    text = lanes.text([drawn(step(0), step(0), step(1, after(1)), step(2), own=1.0, wait=3.0)])
    lines = text.splitlines()
    assert lines[0] == "10 rounds of 4 s, up to the get at t.py:4"
    assert re.fullmatch(r"driver \|=+\.+ *\| own code 1 s, wait 3 s", lines[1])
    assert re.fullmatch(r"Env#0  \| +\*+ *\| step 2 times, 2 s", lines[2])
    assert re.fullmatch(r"Env#2  \| +#+ *\| step, 1 s", lines[4])
    assert lines[5] == "longest path: Env#0.step (2 times), Env#1.step: 3 s"


def test_of_many_processes_those_on_the_path_are_drawn():
    operations = [*(step(k) for k in range(40)), step(40, after(39))]
    for text in (lanes.text([drawn(*operations)]), lanes.svg([drawn(*operations)])):
        assert "Env#39" in text and "Env#40" in text and "Env#0" in text
        assert "and 25 more processes" in text


def test_the_page_has_a_bar_for_each_call_and_escapes_names():
    odd = Operation("task:<f>", "", "t.py:3")
    page = lanes.svg([drawn(step(0), odd, own=1.0)])
    assert page.count("<rect") == 2 + 2  # own code and wait, and the calls
    assert "task:&lt;f&gt;" in page and "<f>" not in page


def test_nothing_to_draw_is_nothing():
    assert lanes.text([]) == lanes.svg([]) == ""
    assert lanes.path_text(drawn()) == ""


@pytest.mark.parametrize("own", [0.0, 1e-9])
def test_calls_that_take_no_time_are_drawn(own):
    empty = round_of(pattern([step(0)], own=own, wait=0.0), {}, {}, CORES)
    assert "Env#0" in lanes.text([empty]) and "<rect" in lanes.svg([empty])
