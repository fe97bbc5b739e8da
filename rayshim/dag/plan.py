"""Makes the plan of a compiled graph from its operations: it groups them into stages, and lists the actor calls that run the stages.

This module makes no call. An operation is one bound method. A stage is a sequence of operations of one actor that a single actor call runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

PLAIN = (int, float, complex, bool, str, bytes, type(None))


@dataclass(frozen=True)
class Value:
    """The value on an edge of the graph: a part of the input (`operation` -1) or a result of an operation."""

    operation: int
    part: Any  # of the input: None, int or str; of an operation: None (all of it) or the number of the result


@dataclass(frozen=True)
class Constant:
    value: Any


@dataclass
class Operation:
    number: int
    actor: Any
    method: Any  # a name, or a collective.Reduction
    name: str
    arguments: tuple[Value | Constant, ...]
    keywords: dict[str, Any]
    outputs: tuple[Value, ...]  # the Values that it makes
    bind_index: int = 0

    @property
    def inputs(self) -> list[Value]:
        return [a for a in self.arguments if isinstance(a, Value)]


@dataclass
class Step:
    """An operation as its actor runs it. `arguments` are ("slot", number) or ("constant", value); `stores` are (slot, part)."""

    method: Any
    name: str
    bind_index: int
    arguments: list[tuple[str, Any]]
    keywords: dict[str, Any]
    stores: list[tuple[int, Any]]


@dataclass
class Stage:
    """The work of one actor call.

    `takes`: the slots for the arguments of the call; None for an argument that is only checked for failure. `gives`: the slots with the results; None for a result that only says that the call has ended.
    `frees`: the slots that are not read later.
    """

    takes: list[int | None] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    gives: list[int | None] = field(default_factory=list)
    frees: list[int] = field(default_factory=list)


@dataclass
class Call:
    """One actor call of an execution. `takes` and `gives` are places in the execution's table of inputs and results."""

    actor: Any
    stage: int  # number of the stage in its actor's list
    takes: list[int]
    gives: list[int]
    results: int
    # Where the method can be called just as it is:
    method: str = None  # pyright: ignore[reportAssignmentType]
    arguments: list[Any] = None  # pyright: ignore[reportAssignmentType]  # places are to be filled in
    fills: list[tuple[int, int]] = None  # pyright: ignore[reportAssignmentType]  # (position among the arguments, place)
    keywords: dict[str, Any] = None  # pyright: ignore[reportAssignmentType]


@dataclass
class Plan:
    """The work of an execution. `inputs`: (key, place, number of calls that take it); `outputs`: the places of the graph's results."""

    inputs: list[tuple[Any, int, int]]
    calls: list[Call]
    outputs: list[int]
    places: int
    stages: dict[Any, list[Stage]]  # of each actor


def make(operations: list[Operation], outputs: list[Value], separate: bool = False) -> Plan:
    """The plan of `operations`, which are in the order of the serial run, with the Values `outputs` as its results.

    With `separate=True` each operation is a separate stage.
    """
    return _Planner(operations, outputs, separate).plan()


class _Group:
    """An unfinished stage."""

    def __init__(self, operation, others):
        self.operations = [operation]
        # If one of these arguments has failed, the stage does not run. So it may contain only operations that depend on all of them.
        self.others = others
        self.dependent = {operation.number} if others else set()

    @property
    def last(self):
        return self.operations[-1]

    @property
    def certain(self):
        """Whether the stage runs even if earlier operations have failed."""
        return not self.others


class _Planner:
    def __init__(self, operations, outputs, separate):
        self.operations, self.outputs, self.separate = operations, outputs, separate
        self.by_number = {o.number: o for o in operations}
        self.consumers = {}  # Value -> operations that take it
        for operation in operations:
            for value in dict.fromkeys(operation.inputs):
                self.consumers.setdefault(value, []).append(operation)
        self.group_of = {}  # operation's number -> _Group

    def plan(self):
        groups = self._groups()
        actors = dict.fromkeys(g.last.actor for g in groups)
        slots = {actor: {} for actor in actors}  # actor -> {Value: slot}
        stages = {actor: [] for actor in actors}
        places, calls = {}, []
        left = {}  # (actor, Value) -> how many groups still read it
        for group in groups:
            for value in self._read_by(group):
                left[group.last.actor, value] = left.get((group.last.actor, value), 0) + 1
        tokens = self._groups_with_token(groups)
        for group in groups:
            actor = group.last.actor
            call, stage = self._stage(group, slots[actor], places, tokens)
            call.stage = len(stages[actor])
            for value in self._read_by(group):
                left[actor, value] -= 1
                if not left[actor, value]:
                    stage.frees.append(slots[actor][value])
            stages[actor].append(stage)
            calls.append(call)
        outputs = [self._place_of(places, value) for value in self.outputs]
        inputs = [
            (v.part, place, sum(place in call.takes for call in calls))
            for v, place in places.items()
            if isinstance(v, Value) and _is_input(v)
        ]
        return Plan(inputs, calls, outputs, len(places), stages)

    @staticmethod
    def _place_of(places, what):
        return places.setdefault(what, len(places))

    def _groups(self):
        """The stages in the order of their last operations, so that each stage waits only for its own inputs."""
        open_groups, groups = {}, []
        for operation in self.operations:
            group = open_groups.get(operation.actor)
            if group is not None and self._joins(operation, group):
                group.operations.append(operation)
                if group.dependent & {v.operation for v in operation.inputs}:
                    group.dependent.add(operation.number)
                groups.remove(group)
            else:
                group = open_groups[operation.actor] = _Group(operation, self._others(operation))
            groups.append(group)
            self.group_of[operation.number] = group
        return groups

    def _others(self, operation):
        """The requirements of a stage that begins with `operation`: results of other actors, and, as groups, earlier stages of its own actor that may
        have been skipped."""
        others = []
        for value in dict.fromkeys(operation.inputs):
            if _is_input(value):
                continue
            if self.by_number[value.operation].actor != operation.actor:
                others.append(value)
            elif not self.group_of[value.operation].certain and self.group_of[value.operation] not in others:
                others.append(self.group_of[value.operation])
        return others

    def _joins(self, operation, group):
        """Whether the call of `group` can run `operation`, too. No other actor may wait for the results of the group, and `operation` must run or be
        skipped in the same cases as in a separate call."""
        if self.separate or any(self._is_wanted_elsewhere(v) for v in group.last.outputs):
            return False
        if not group.certain and not group.dependent & {v.operation for v in operation.inputs}:
            return False
        for value in operation.inputs:
            if _is_input(value) or self.group_of[value.operation] is group:
                continue
            source = self.group_of[value.operation]
            if source.last.actor != operation.actor or not source.certain:
                return False
        return True

    def _is_wanted_elsewhere(self, value):
        if value in self.outputs:
            return True
        actor = self.by_number[value.operation].actor
        return any(o.actor != actor for o in self.consumers.get(value, ()))

    def _read_by(self, group):
        return dict.fromkeys(v for o in group.operations for v in o.inputs)

    def _groups_with_token(self, groups):
        return [other for group in groups for other in group.others if isinstance(other, _Group)]

    def _stage(self, group, slots, places, tokens):
        """The group's Call and its Stage."""
        actor, own = group.last.actor, {o.number for o in group.operations}
        call, stage = Call(actor, -1, [], [], 0), Stage()
        for value in self._read_by(group):
            slot = slots.setdefault(value, len(slots))
            if not self._is_local(value, actor):
                call.takes.append(self._place_of(places, value))
                stage.takes.append(slot)
        for other in group.others:
            if isinstance(other, _Group):
                call.takes.append(self._place_of(places, id(other)))
                stage.takes.append(None)
        for operation in group.operations:
            stage.steps.append(self._step(operation, slots))
        for value in group.last.outputs:
            if self._is_wanted_elsewhere(value):
                call.gives.append(self._place_of(places, value))
                stage.gives.append(slots[value])
        stage.frees += [slots[v] for o in group.operations for v in o.outputs if not self._read_here(v, actor)]
        if group in tokens or not call.gives:
            call.gives.append(self._place_of(places, id(group)))
            stage.gives.append(None)
        call.results = len(call.gives)
        if len(own) == 1 and self._is_plain(group.last, call):
            self._make_plain(group.last, call, places)
        return call, stage

    def _is_local(self, value, actor):
        return not _is_input(value) and self.by_number[value.operation].actor == actor

    def _read_here(self, value, actor):
        return any(o.actor == actor for o in self.consumers.get(value, ()))

    def _step(self, operation, slots):
        arguments = [
            ("constant", a.value) if isinstance(a, Constant) else ("slot", slots[a]) for a in operation.arguments
        ]
        stores = [(slots.setdefault(v, len(slots)), v.part) for v in operation.outputs]
        return Step(operation.method, operation.name, operation.bind_index, arguments, operation.keywords, stores)

    def _is_plain(self, operation, call):
        """Whether an ordinary call of the method does the same. This is so if no value stays in the actor, and no value is shared with another of its
        operations, which would get the same object."""
        constants = [a.value for a in operation.arguments if isinstance(a, Constant)]
        return (
            isinstance(operation.method, str)
            and not self.separate
            and len(call.gives) == len(operation.outputs)
            and len(set(operation.inputs)) == len(operation.inputs)
            and not any(self._is_local(v, operation.actor) for v in operation.inputs)
            and all(isinstance(c, PLAIN) for c in [*constants, *operation.keywords.values()])
            and not any(self._read_here(v, operation.actor) for v in operation.outputs)
            and all(sum(o.actor == operation.actor for o in self.consumers[v]) == 1 for v in operation.inputs)
        )

    def _make_plain(self, operation, call, places):
        call.method, call.keywords = operation.method, operation.keywords
        call.arguments = [a.value if isinstance(a, Constant) else None for a in operation.arguments]
        call.fills = [(at, places[a]) for at, a in enumerate(operation.arguments) if isinstance(a, Value)]


def _is_input(value):
    return value.operation < 0
