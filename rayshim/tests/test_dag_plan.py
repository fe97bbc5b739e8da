"""What a compiled graph's plan puts into one call, and what not."""

from types import SimpleNamespace

from reactor import plan as plans
from reactor.execution.stages import cut
from reactor.plan import Constant, Step, Value

from rayshim.dag.calls import calls

INPUT = Value(plans.INPUT)


def operation(number, actor, *arguments, method="f", outputs=1):
    given = tuple(a if isinstance(a, (Value, Constant)) else Value(a) for a in arguments)
    values = tuple(Value(number, part) for part in (range(outputs) if outputs > 1 else [None]))
    return Step(actor, method, given, values)


def result(number):
    return Value(number)


def make(steps, outputs, separate=False):
    plan = plans.make(plans.flow(steps), plans.worker_of_each_reactor, outputs, by_level=False)
    stages = cut(plan, separate)
    of_actor = {step.reactor: stages.stages[step.worker] for step in plan.steps}
    made = calls(plan, stages, separate)
    return SimpleNamespace(calls=made, stages=of_actor, inputs=stages.inputs, outputs=stages.outputs)


def sizes(plan):
    """How many operations each call does, with the actor."""
    return [(call.actor, len(plan.stages[call.actor][call.stage].steps)) for call in plan.calls]


def test_a_call_between_actors_is_the_method_itself():
    plan = make([operation(0, "a", INPUT), operation(1, "b", 0, Constant(5))], [result(1)])
    assert [call.method for call in plan.calls] == ["f", "f"]
    first, second = plan.calls
    assert plan.inputs == [(None, first.fills[0][1], 1)]
    assert second.arguments == (None, 5)
    assert second.fills == ((0, first.gives[0]),)
    assert plan.outputs == second.gives


def test_a_chain_in_one_actor_is_one_call():
    plan = make([operation(i, "a", *([i - 1] if i else [INPUT])) for i in range(4)], [result(3)])
    assert sizes(plan) == [("a", 4)]
    assert plan.calls[0].method == ""


def test_nobody_waits_for_what_another_operation_does():
    # b takes the first result of a: a's second operation is a call of its own.
    plan = make([operation(0, "a", INPUT), operation(1, "a", 0), operation(2, "b", 0)], [result(1), result(2)])
    assert sizes(plan) == [("a", 1), ("a", 1), ("b", 1)]


def test_an_operation_that_waits_for_another_actor_is_a_call_of_its_own():
    plan = make([operation(0, "a", INPUT), operation(1, "b", INPUT), operation(2, "a", 0, 1)], [result(2)])
    assert sizes(plan) == [("a", 1), ("b", 1), ("a", 1)]


def test_what_would_run_after_a_failure_is_not_put_behind_it():
    operations = [operation(0, "b", INPUT), operation(1, "a", 0), operation(2, "a", INPUT), operation(3, "a", 1, 2)]
    assert sizes(make(operations, [result(3)])) == [("b", 1), ("a", 1), ("a", 1), ("a", 1)]


def test_a_call_that_needs_what_stayed_in_its_actor_needs_the_call_that_made_it():
    # The first call of a may be left out, because b failed. The last one takes its value from the actor, and must be left out too.
    operations = [operation(0, "b", INPUT), operation(1, "a", 0), operation(2, "c", INPUT), operation(3, "a", 1, 2)]
    plan = make(operations, [result(3)])
    giving, needing = plan.calls[1], plan.calls[3]
    assert set(giving.gives) & set(needing.takes)
    assert needing.method == ""


def test_what_two_operations_of_an_actor_take_is_shared():
    plan = make([operation(0, "a", INPUT), operation(1, "a", INPUT)], [result(0), result(1)])
    assert [call.method for call in plan.calls] == ["", ""]
    (one,), (other,) = [stage.takes for stage in plan.stages["a"]]
    assert one == other
    assert [stage.frees.count(one) for stage in plan.stages["a"]] == [0, 1]


def test_a_constant_that_can_change_stays_in_its_actor():
    changing = make([operation(0, "a", INPUT, Constant([]))], [result(0)])
    assert changing.calls[0].method == ""


def test_results_of_one_operation_are_results_of_its_call():
    plan = make([operation(0, "a", INPUT, outputs=2), operation(1, "b", Value(0, 1))], [Value(0, 0), result(1)])
    assert len(plan.calls[0].gives) == 2
    assert plan.outputs == [plan.calls[0].gives[0], plan.calls[1].gives[0]]


def test_separate_operations():
    plan = make([operation(0, "a", INPUT), operation(1, "a", 0)], [result(1)], separate=True)
    assert sizes(plan) == [("a", 1), ("a", 1)]
    assert [call.method for call in plan.calls] == ["", ""]
