"""The plan of any front end: order, levels, workers, what is cut into one activation, and what runs it."""

import pytest
from reactor.execution.stages import Failed, WorkerStages, cut
from reactor.model.levels import CausalityError
from reactor.plan import INPUT, Constant, Step, Value, flow, make, worker_of_each_reactor

GIVEN = Value(INPUT)


def chain():
    """Two steps of a, then one of b that takes what both made; its second result is the plan's."""
    steps = [
        Step("a", "f", (GIVEN,), (Value(0),)),
        Step("a", "g", (Value(0), Constant(2)), (Value(1),)),
        Step("b", "h", (Value(1),), (Value(2, 0), Value(2, 1))),
    ]
    return make(flow(steps), worker_of_each_reactor, [Value(2, 1)])


def test_a_plan_prints_a_line_per_step_with_what_it_takes_and_waits_for():
    assert str(chain()).splitlines() == [
        "#   level  worker  reaction  arguments  waits for",
        "#0  0      0       a.f       input",
        "#1  1      0       a.g       #0, 2      #0",
        "#2  2      1       b.h       #1         #1",
        "gives #2[1]",
    ]


def test_a_worker_has_its_steps_in_the_order_of_the_plan():
    plan = chain()
    assert [step.index for step in plan.of_worker(0)] == [0, 1]
    assert [step.index for step in plan.of_worker(1)] == [2]


def test_steps_of_a_lower_level_come_first_and_values_keep_their_step():
    steps = [
        Step("a", "f", (GIVEN,), (Value(0),)),
        Step("a", "g", (Value(0),), (Value(1),)),
        Step("b", "f", (GIVEN,), (Value(2),)),
    ]
    plan = make(flow(steps), worker_of_each_reactor, [Value(1), Value(2)])
    assert [step.name for step in plan.steps] == ["a.f", "b.f", "a.g"]
    assert plan.levels == ((0, 1), (2,))
    assert plan.outputs == (Value(2), Value(1))
    assert plan.steps[2].arguments == (Value(0),)


def test_a_step_before_one_with_a_deadline_has_that_deadline():
    steps = [Step("a", "f"), Step("b", "f"), Step("b", "g", waits_for=(1,), deadline=5)]
    plan = make(steps, worker_of_each_reactor)
    assert [(step.name, step.deadline == 5) for step in plan.steps] == [("b.f", True), ("b.g", True), ("a.f", False)]


def test_steps_that_wait_for_each_other_are_refused_with_their_path():
    steps = [Step("a", "f", waits_for=(1,), site="a.py:1"), Step("b", "g", waits_for=(0,), site="b.py:2")]
    with pytest.raises(CausalityError, match=r"a\.f \(a\.py:1\) comes before b\.g, by the wire") as caught:
        make(steps, worker_of_each_reactor, reasons={(0, 1): "by the wire", (1, 0): "by another"})
    assert set(caught.value.path) == {"a.f", "b.g"}


class Adder:
    def f(self, x):
        return x + 1

    def g(self, x, y):
        if x < 0:
            raise ValueError("negative")
        return x * y


def run(stages, number, taken):
    adder = Adder()
    return WorkerStages(stages, lambda name: getattr(adder, name)).run(number, 1, taken)


def test_a_worker_runs_its_steps_in_one_activation_and_gives_what_others_take():
    stages = cut(chain())
    first, second = stages.activations
    assert [len(activation.steps) for activation in stages.activations] == [2, 1]
    assert first.gives == second.takes
    assert run(stages.stages[0], first.number, [4]) == [10]


def test_an_error_goes_to_the_steps_that_depend_on_it():
    stages = cut(chain())
    failed = run(stages.stages[0], 0, [-2])
    assert isinstance(failed, Failed)
    assert (str(failed.error), failed.step.name) == ("negative", "a.g")


def test_a_plan_is_cut_at_each_step_when_asked():
    assert [len(activation.steps) for activation in cut(chain(), separate=True).activations] == [1, 1, 1]
