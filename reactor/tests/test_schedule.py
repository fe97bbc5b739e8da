"""A plan says per operation its channel and level, per result who takes it, and whom to wake."""

from hypothesis import given, settings
from reactor.record import WAITS, Operation, Recording, Result, Segment, Source
from reactor.schedule import Wake, plan, plans
from reactor.tests.recordings import call, recordings, training


def of(*operations, ends="get", **more):
    return plan(Segment("driver", operations, ends, **more))


def test_a_barrier_wakes_each_process_and_the_caller_once():
    barrier = of(*(call(f"Env#{i}", "step", i) for i in range(8)))
    assert barrier.expected_wakes == 9
    assert barrier.woken_by_caller == tuple(range(8))
    assert barrier.levels == ((), tuple(range(8)))


def test_many_calls_to_one_process_wake_it_once():
    many = of(*(call("Env#0", "step", 4) for _ in range(10)))
    assert many.wakes == (Wake(4, None),)
    assert [p.first for p in many.operations] == [True] + [False] * 9
    assert [p.last for p in many.operations] == [False] * 9 + [True]


def test_in_a_chain_each_process_is_woken_by_the_one_before():
    chain = of(
        *(call(f"S#{i}", "f", i, needs=[i - 1] if i else []) for i in range(8)), gets=(Source("operation", 0, 7),)
    )
    assert chain.wakes == (Wake(0, None), *(Wake(i, i - 1) for i in range(1, 8)))
    assert [p.level for p in chain.operations] == list(range(1, 9))
    assert all(p.results[0].direct for p in chain.operations[:-1])
    assert chain.operations[-1].results[0].to_caller and not chain.operations[-1].results[0].direct


def test_a_process_that_runs_dry_is_woken_again():
    dry = of(call("A", "f", 0), call("B", "g", 1, needs=[0]), call("A", "h", 0, needs=[1]))
    assert dry.wakes == (Wake(0, None), Wake(1, 0), Wake(0, 1))


def test_a_process_that_is_kept_busy_is_not_woken_again():
    busy = of(call("A", "f", 0), call("B", "g", 1), call("A", "h", 0, needs=[1]))
    assert busy.wakes == (Wake(0, None), Wake(1, None))


def test_nobody_is_woken_for_the_caller_at_the_end_of_a_task():
    assert of(call("A", "f", 0), ends="end of task").expected_wakes == 1


def test_a_get_of_something_else_does_not_wait_for_this_segment():
    assert not of(call("A", "f", 0), gets=()).caller_waits


def test_a_put_is_at_level_zero_on_no_channel_and_read_by_many():
    put = Operation("put", "", "a.py:1", (Source("value", layout="float32[4]", bytes=16),))
    readers = [call(f"Env#{i}", "set", i, sources=[Source("put", 0, 0)]) for i in range(3)]
    planned = of(put, *readers)
    first = planned.operations[0]
    assert (first.level, first.channel, first.first, first.last) == (0, None, False, False)
    assert first.results[0].consumers == ((0, 1), (0, 2), (0, 3)) and first.results[0].typed


def test_a_task_whose_process_is_chosen_at_the_call_is_first_and_last():
    two = of(*(Operation("task:f", "", "a.py:1", (), (Result(),)) for _ in range(2)))
    assert all(p.first and p.last and str(p.channel) == "driver -> any" for p in two.operations)
    assert two.expected_wakes == 3


def test_a_result_used_in_a_later_segment_names_how_much_later():
    recording = training(actors=2)
    learn = plan(recording.segments[1], recording).operations[-1]
    assert learn.results[0].consumers == ((1, 1),) and learn.results[0].to_caller


def test_a_result_that_is_never_asked_for_goes_nowhere():
    unread = of(call("A", "f", 0), gets=()).operations[0].results[0]
    assert not unread.consumers and not unread.to_caller and not unread.direct


def test_prints_as_a_short_table():
    recording = training(actors=2)
    lines = str(plan(recording.segments[1], recording)).splitlines()
    assert lines[0] == "driver: 4 operations, then get; 3 levels, 4 wake-ups expected"
    assert lines[1].split() == ["#", "level", "operation", "channel", "order", "arguments", "results"]
    assert "driver -> 1" in lines[3] and "first last" in lines[3] and "to #3 (direct)" in lines[3]


def test_a_plan_per_segment():
    recording = training(actors=2)
    assert plans(recording) == tuple(plan(segment, recording) for segment in recording.segments)


@settings(max_examples=150, deadline=None)
@given(recordings())
def test_counts_are_consistent(recording):
    for segment, planned in zip(recording.segments, plans(recording)):
        calls = [p for p in planned.operations if p.channel]
        assert sorted(k for level in planned.levels for k in level) == list(range(len(segment.operations)))
        assert all(planned.operations[k].level == at for at, level in enumerate(planned.levels) for k in level)
        fixed = {p.channel for p in calls if p.channel.process is not None}
        free = sum(p.channel.process is None for p in calls)
        assert sum(p.first for p in calls) == sum(p.last for p in calls) == len(fixed) + free
        assert len(fixed) + free <= len(planned.wakes) <= len(calls)
        assert planned.caller_waits <= (segment.ends in WAITS)


@settings(max_examples=150, deadline=None)
@given(recordings())
def test_levels_respect_arguments_and_the_order_of_each_process(recording):
    for planned in plans(recording):
        reached = {}
        for p in planned.operations:
            for source in p.arguments:
                if source.kind == "operation" and source.segment == 0:
                    assert planned.operations[source.operation].level < p.level
            if p.channel and p.channel.process is not None:
                assert reached.get(p.channel, 0) < p.level
                reached[p.channel] = p.level


@settings(max_examples=150, deadline=None)
@given(recordings())
def test_every_argument_of_a_segment_is_a_consumer_of_its_source(recording):
    for planned in plans(recording):
        for p in planned.operations:
            for source in p.arguments:
                if source.kind in ("operation", "put") and source.segment == 0:
                    assert (0, p.index) in planned.operations[source.operation].results[source.output].consumers


@settings(max_examples=80, deadline=None)
@given(recordings())
def test_a_segment_alone_has_the_same_levels_and_wakes_as_in_its_recording(recording):
    for segment in recording.segments:
        alone, within = plan(segment), plan(segment, recording)
        assert (alone.levels, alone.wakes, alone.caller_waits) == (within.levels, within.wakes, within.caller_waits)


def test_an_empty_segment_has_an_empty_plan():
    assert plan(Segment("driver", ()), Recording((Segment("driver", ()),))).levels == ()
