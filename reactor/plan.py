"""The plan: what runs, in which order, on which worker, and what each step waits for.

A plan is made of steps, each of which runs one reaction of one reactor. Front ends make them: `reactor.declared`, for reactors that are declared in
Python or in `.lf` files, an API above, for graphs of calls that a program compiles, and `reactor.recording.graph`, for a recorded pattern, whose plan is only
looked at. `make` puts the steps in order and places them. Pure data: `reactor.execution` runs it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace

from reactor.model.levels import SAME_REACTOR, levels
from reactor.model.time import FOREVER

TYPE_CHECKING = False  # like that of typing, without the import
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from typing import Any

HERE = -1  # the worker number of the process that runs the plan
INPUT = -1  # the source of a Value that is (a part of) the input of the whole plan


@dataclass(frozen=True)
class Value:
    """What flows from step to step.

    Attributes:
        source: index of the step that makes it, INPUT, or the path of a port, which several steps may set.
        part: of a result or of the input: None (all of it), the number or the name of a part.
    """

    source: int | str
    part: Any = None

    @property
    def is_input(self) -> bool:
        return self.source == INPUT

    def __str__(self) -> str:
        source = "input" if self.is_input else f"#{self.source}" if isinstance(self.source, int) else self.source
        return source if self.part is None else f"{source}[{self.part!r}]"


@dataclass(frozen=True)
class Constant:
    """An argument that is the same each time."""

    value: Any

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Step:
    """One reaction of one reactor.

    Attributes:
        reactor: whose state it has: the path of a declared reactor, the handle of an actor.
        reaction: its name there, or a function.
        arguments: a Value or a Constant each.
        stores: the Values that it makes, or may make.
        waits_for: indices of the steps that run before it when both run at one tag.
        name: for people; the reactor's and the reaction's, if left out.
        site: where it was declared, "path.py:41".
        triggers: names of what makes it run; none: it runs each time.
        keywords: constant arguments by name.
        deadline: nanoseconds; its own, or in a plan that of a step which waits for it, if that is less.
        bind_index: number of the call among those that were bound to its actor.
        index: its place in the order of the plan: of two that are ready the lower one runs first.
        level: 0, or one more than the highest level that it waits for. Steps of one level may run at the same time.
        worker: HERE, or the number of a worker.
    """

    reactor: Hashable
    reaction: Any
    arguments: tuple[Value | Constant, ...] = ()
    stores: tuple[Value, ...] = ()
    waits_for: tuple[int, ...] = ()
    name: str = ""
    site: str = ""
    triggers: tuple[str, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict, hash=False)
    deadline: int = FOREVER
    bind_index: int = 0
    index: int = -1
    level: int = 0
    worker: int = HERE

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", f"{self.reactor}.{self.reaction}")

    @property
    def inputs(self) -> list[Value]:
        """The arguments that are no constants."""
        return [argument for argument in self.arguments if isinstance(argument, Value)]


@dataclass(frozen=True)
class Plan:
    """Steps in their order. Prints itself as a table, a line per step.

    Attributes:
        outputs: the Values that are the result of the whole plan.
    """

    steps: tuple[Step, ...]
    workers: int = 0
    outputs: tuple[Value, ...] = ()

    @property
    def levels(self) -> tuple[tuple[int, ...], ...]:
        """Indices of the steps of each level."""
        found = defaultdict(list)
        for step in self.steps:
            found[step.level].append(step.index)
        return tuple(tuple(found[level]) for level in range(len(found)))

    def of_worker(self, worker: int) -> tuple[Step, ...]:
        """The steps that a worker runs, in its order."""
        return tuple(step for step in self.steps if step.worker == worker)

    def __str__(self) -> str:
        with_values = any(step.arguments or step.stores for step in self.steps if not step.triggers)
        rows = [("#", "level", "worker", "reaction", "arguments" if with_values else "triggers", "waits for")]
        for step in self.steps:
            worker = "here" if step.worker == HERE else str(step.worker)
            waits = ", ".join(f"#{k}" for k in step.waits_for)
            reads = ", ".join(map(str, step.arguments)) if with_values else ", ".join(step.triggers)
            rows.append((f"#{step.index}", str(step.level), worker, step.name, reads, waits))
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        if self.outputs:
            lines.append(f"gives {', '.join(map(str, self.outputs))}")
        return "\n".join(lines)


def make(
    steps: Sequence[Step],
    place: Callable[[Sequence[Step], Sequence[int]], tuple[Sequence[int], int]],
    outputs: Sequence[Value] = (),
    reasons: dict[tuple[int, int], str] | None = None,
    by_level: bool = True,
) -> Plan:
    """The plan of `steps`: in order, with levels, deadlines and workers.

    Arguments:
        steps: in the order of the serial run; `waits_for` and the sources of Values are positions in this sequence.
        place: gives for the steps in their order, and for the position of each in `steps`, ([worker of each], number of workers).
        outputs: the Values that the plan gives.
        reasons: {(position of an earlier step, position of a later one): why}, for the error.
        by_level: whether steps of a lower level come first, and before these the ones with a deadline; else they stay in the order of the serial run.

    Raises:
        CausalityError: steps that wait for each other, with the path.
    """
    reasons = reasons or {}
    before = {k: {j: reasons.get((j, k), SAME_REACTOR) for j in step.waits_for} for k, step in enumerate(steps)}
    level = levels(before, lambda k: (steps[k].name, steps[k].site))
    deadline = _deadlines(steps, level)
    order = sorted(before, key=lambda k: (deadline[k], level[k], k)) if by_level else list(before)
    index = {k: position for position, k in enumerate(order)}

    def moved(value):
        return (
            replace(value, source=index[value.source]) if isinstance(value, Value) and value.source in index else value
        )

    ordered = [
        replace(
            steps[k],
            arguments=tuple(map(moved, steps[k].arguments)),
            stores=tuple(map(moved, steps[k].stores)),
            waits_for=tuple(sorted(index[j] for j in before[k])),
            deadline=deadline[k],
            level=level[k],
            index=index[k],
        )
        for k in order
    ]
    workers, count = place(ordered, order)
    placed = tuple(replace(step, worker=worker) for step, worker in zip(ordered, workers))
    return Plan(placed, count, tuple(map(moved, outputs)))


def worker_of_each_reactor(steps: Sequence[Step], _order: Sequence[int]) -> tuple[list[int], int]:
    """Places each reactor on a worker of its own, numbered in the order of their first steps; for `make`."""
    numbers = {}
    workers = [numbers.setdefault(step.reactor, len(numbers)) for step in steps]
    return workers, len(numbers)


def flow(steps: Sequence[Step]) -> list[Step]:
    """`steps`, each of which now waits also for the steps whose results it takes and for the one before it of its reactor."""
    found, last = [], {}
    for k, step in enumerate(steps):
        earlier = {value.source for value in step.inputs if isinstance(value.source, int) and not value.is_input}
        if step.reactor in last:
            earlier.add(last[step.reactor])
        last[step.reactor] = k
        found.append(replace(step, waits_for=tuple(sorted({*step.waits_for, *earlier}))))
    return found


def _deadlines(steps, level):
    found = {k: step.deadline for k, step in enumerate(steps)}
    for k in sorted(found, key=level.__getitem__, reverse=True):
        for earlier in steps[k].waits_for:
            found[earlier] = min(found[earlier], found[k])
    return found
