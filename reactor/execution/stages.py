"""Stages: a plan, cut into the activations of its workers, and what runs one.

A stage is a sequence of steps of one worker that a single activation (a message to the worker) runs. A worker is cut where another one waits for a result, and
where a later step may run although an earlier one has failed. The values that stay in a worker lie in its slots, from stage to stage of one
execution.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

from reactor.plan import Constant, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reactor.plan import Plan, Step


@dataclass(frozen=True)
class SlotStep:
    """A step as its worker runs it.

    Attributes:
        arguments: ("slot", number) or ("constant", value) each.
        stores: (slot, part of the result) each.
    """

    reaction: Any
    name: str
    bind_index: int
    arguments: tuple[tuple[str, Any], ...]
    keywords: dict[str, Any]
    stores: tuple[tuple[int, Any], ...]


@dataclass
class Stage:
    """The work of one activation.

    Attributes:
        takes: the slots for the arguments of the activation; None for an argument that is only checked for failure.
        steps: in their order.
        gives: the slots with the results; None for a result that only says that the activation has ended.
        frees: the slots that no later stage reads.
    """

    takes: list[int | None] = field(default_factory=list)
    steps: list[SlotStep] = field(default_factory=list)
    gives: list[int | None] = field(default_factory=list)
    frees: list[int] = field(default_factory=list)


@dataclass
class Activation:
    """A stage among those of its plan.

    Attributes:
        worker: the one that runs it.
        number: of its stage among those of the worker.
        steps: the steps of the plan that it runs.
        takes, gives: places in the execution's table of inputs and results.
    """

    worker: int
    number: int
    steps: tuple[Step, ...]
    takes: list[int]
    gives: list[int]


@dataclass
class Cut:
    """A plan in stages.

    Attributes:
        inputs: (part of the plan's input, place, number of activations that take it) each.
        activations: in the order in which they are started.
        outputs: the places of the plan's outputs.
        places: the size of the table of inputs and results.
        stages: of each worker.
    """

    inputs: list[tuple[Any, int, int]]
    activations: list[Activation]
    outputs: list[int]
    places: int
    stages: list[list[Stage]]


def cut(plan: Plan, separate: bool = False) -> Cut:
    """The stages of `plan`; with `separate=True` each step is a stage."""
    return _Cutter(plan, separate).cut()


class _Group:
    """An unfinished stage."""

    def __init__(self, step, others):
        self.steps = [step]
        # If one of these arguments has failed, the stage does not run. So it may contain only steps that depend on all of them.
        self.others = others
        self.dependent = {step.index} if others else set()

    @property
    def worker(self):
        return self.steps[0].worker

    @property
    def last(self):
        return self.steps[-1]

    @property
    def certain(self):
        """Whether the stage runs even if earlier steps have failed."""
        return not self.others


class _Cutter:
    def __init__(self, plan, separate):
        self.steps, self.outputs, self.workers, self.separate = plan.steps, plan.outputs, plan.workers, separate
        self.consumers = consumers(plan.steps)
        self.group_of = {}  # index of a step -> _Group

    def cut(self):
        groups = self._groups()
        slots = [{} for _ in range(self.workers)]  # of each worker: {Value: slot}
        stages = [[] for _ in range(self.workers)]
        places, activations = {}, []
        left = {}  # (worker, Value) -> how many groups still read it
        for group in groups:
            for value in _read_by(group):
                left[group.worker, value] = left.get((group.worker, value), 0) + 1
        awaited = [other for group in groups for other in group.others if isinstance(other, _Group)]
        for group in groups:
            worker = group.worker
            activation, stage = self._stage(group, slots[worker], places, awaited)
            activation.number = len(stages[worker])
            for value in _read_by(group):
                left[worker, value] -= 1
                if not left[worker, value]:
                    stage.frees.append(slots[worker][value])
            stages[worker].append(stage)
            activations.append(activation)
        outputs = [_place_of(places, value) for value in self.outputs]
        inputs = [
            (v.part, place, sum(place in activation.takes for activation in activations))
            for v, place in places.items()
            if isinstance(v, Value) and v.is_input
        ]
        return Cut(inputs, activations, outputs, len(places), stages)

    def _groups(self):
        """The stages in the order of their last steps, so that each stage waits only for its own inputs."""
        open_groups, groups = {}, []
        for step in self.steps:
            group = open_groups.get(step.worker)
            if group is not None and self._joins(step, group):
                group.steps.append(step)
                if group.dependent & {v.source for v in step.inputs}:
                    group.dependent.add(step.index)
                groups.remove(group)
            else:
                group = open_groups[step.worker] = _Group(step, self._others(step))
            groups.append(group)
            self.group_of[step.index] = group
        return groups

    def _others(self, step):
        """The requirements of a stage that begins with `step`: results of other workers, and, as groups, earlier stages of its own worker that may
        have been skipped."""
        others = []
        for value in dict.fromkeys(step.inputs):
            if value.is_input:
                continue
            if self.steps[value.source].worker != step.worker:
                others.append(value)
            elif not self.group_of[value.source].certain and self.group_of[value.source] not in others:
                others.append(self.group_of[value.source])
        return others

    def _joins(self, step, group):
        """Whether the activation of `group` can run `step`, too. No other worker may wait for the results of the group, and `step` must run or be
        skipped in the same cases as in an activation of its own."""
        if self.separate or any(self._is_wanted_elsewhere(v) for v in group.last.stores):
            return False
        if not group.certain and not group.dependent & {v.source for v in step.inputs}:
            return False
        for value in step.inputs:
            if value.is_input or self.group_of[value.source] is group:
                continue
            source = self.group_of[value.source]
            if source.worker != step.worker or not source.certain:
                return False
        return True

    def _is_wanted_elsewhere(self, value):
        worker = self.steps[value.source].worker
        return value in self.outputs or any(s.worker != worker for s in self.consumers.get(value, ()))

    def _stage(self, group, slots, places, awaited):
        """The group's Activation, without its number, and its Stage."""
        worker = group.worker
        activation, stage = Activation(worker, -1, tuple(group.steps), [], []), Stage()
        for value in _read_by(group):
            slot = slots.setdefault(value, len(slots))
            if value.is_input or self.steps[value.source].worker != worker:
                activation.takes.append(_place_of(places, value))
                stage.takes.append(slot)
        for other in group.others:
            if isinstance(other, _Group):
                activation.takes.append(_place_of(places, id(other)))
                stage.takes.append(None)
        for step in group.steps:
            stage.steps.append(_with_slots(step, slots))
        for value in group.last.stores:
            if self._is_wanted_elsewhere(value):
                activation.gives.append(_place_of(places, value))
                stage.gives.append(slots[value])
        for value in (value for step in group.steps for value in step.stores):
            if not any(s.worker == worker for s in self.consumers.get(value, ())):
                stage.frees.append(slots[value])
        if group in awaited or not activation.gives:
            activation.gives.append(_place_of(places, id(group)))
            stage.gives.append(None)
        return activation, stage


def consumers(steps: Sequence[Step]) -> dict[Value, list[Step]]:
    """{Value: the steps that take it}"""
    found = {}
    for step in steps:
        for value in dict.fromkeys(step.inputs):
            found.setdefault(value, []).append(step)
    return found


def _place_of(places, what):
    return places.setdefault(what, len(places))


def _read_by(group):
    return dict.fromkeys(v for step in group.steps for v in step.inputs)


def _with_slots(step, slots):
    arguments = tuple(("constant", a.value) if isinstance(a, Constant) else ("slot", slots[a]) for a in step.arguments)
    stores = tuple((slots.setdefault(v, len(slots)), v.part) for v in step.stores)
    return SlotStep(step.reaction, step.name, step.bind_index, arguments, step.keywords, stores)


# ---- in the worker


class Failed:
    """Takes the place of a value whose step failed.

    Attributes:
        error: what the step raised.
        step: the step that raised it.
    """

    def __init__(self, error: Exception, step: SlotStep) -> None:
        self.error, self.step = error, step


class WorkerStages:
    """The stages of one plan in one worker, and the values that stay there from stage to stage.

    Arguments:
        bound: gives for the reaction of a step the callable that runs it.
        observe: called after each step with (step, times): of `time.perf_counter()` at its begin, with its arguments, with its result, at its
            end. None: no times are taken.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        bound: Callable[[Any], Callable[..., Any]],
        observe: Callable[[SlotStep, list[float]], None] | None = None,
    ) -> None:
        self._stages, self._bound, self._observe = stages, bound, observe
        self._execution = None
        self._slots = {}

    def run(self, number: int, execution: int, taken: Sequence[Any]) -> list[Any] | Failed:
        """Runs stage `number` with the arguments `taken`. Returns its results, or the Failed of its last step.

        The error of a step is passed to the steps that depend on it.
        """
        if execution != self._execution:
            self._execution, self._slots = execution, {}
        stage, slots = self._stages[number], self._slots
        for slot, value in zip(stage.takes, taken):
            if slot is not None:
                slots.setdefault(
                    slot, value
                )  # a value that an earlier stage got is shared, like the value of one channel
        failed = None
        for step in stage.steps:
            failed = self._step(step, slots)
        given = failed or [None if slot is None else slots[slot] for slot in stage.gives]
        for slot in stage.frees:
            slots.pop(slot, None)
        return given

    def _step(self, step, slots):
        """Runs one step and stores its results. Returns its Failed, or None."""
        times, now = [], self._observe and perf_counter
        if now:
            times.append(now())
        arguments = [slots[what] if kind == "slot" else what for kind, what in step.arguments]
        failed = next((a for a in arguments if type(a) is Failed), None)
        result = None
        if now:
            times.append(now())
        if failed is None:
            try:
                result = self._bound(step.reaction)(*arguments, **step.keywords)
                _check_parts(result, step.stores, step.name)
            except Exception as error:
                failed = Failed(error, step)
        if now:
            times.append(now())
        for slot, part in step.stores:
            slots[slot] = failed or (result if part is None else result[part])  # pyright: ignore[reportOptionalSubscript]
        if now and self._observe:
            times.append(now())
            self._observe(step, times)
        return failed


def _check_parts(result, stores, name):
    if len(stores) < 2:
        return
    if not isinstance(result, tuple):
        raise ValueError(
            f"Expected a tuple of {len(stores)} outputs, but got {type(result)} (from {name}: return a tuple with a value for each)"
        )
    if len(result) != len(stores):
        raise ValueError(
            f"Expected {len(stores)} outputs, but got {len(result)} outputs (from {name}: return a tuple with a value for each)"
        )
