"""A program's schedule: the order of its reactions at one tag, their levels, where each runs and what it waits for."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from reactor.model.elements import Port
from reactor.model.graph import CausalityError
from reactor.model.graph import precedences as declared_order
from reactor.model.time import FOREVER
from reactor.schedule.placing import HERE, place
from reactor.schedule.wiring import Wiring, triggers_of


@dataclass(frozen=True)
class Step:
    """A reaction in a schedule.

    Attributes:
        index: its place in the order at one tag: of two that are ready the lower one runs first.
        level: 0, or one more than the highest level that it waits for. Reactions of one level may run at the same time.
        deadline: nanoseconds; its own, or that of a reaction which waits for it, if that is less.
        worker: HERE for the process of the program, else the number of a worker.
        waits_for: indices of the reactions that run before it when both run at one tag.
    """

    index: int
    path: str
    site: str
    level: int
    deadline: int
    worker: int
    triggers: tuple[str, ...]
    waits_for: tuple[int, ...]


@dataclass(frozen=True)
class Schedule:
    """The steps of a program. Prints itself as a table, a line per reaction."""

    steps: tuple[Step, ...]
    workers: int

    @property
    def levels(self) -> tuple[tuple[int, ...], ...]:
        """Indices of the reactions of each level."""
        found = defaultdict(list)
        for step in self.steps:
            found[step.level].append(step.index)
        return tuple(tuple(found[level]) for level in range(len(found)))

    def of_worker(self, worker: int) -> tuple[int, ...]:
        """Indices of what a worker runs, in its order."""
        return tuple(step.index for step in self.steps if step.worker == worker)

    def __str__(self) -> str:
        rows = [("#", "level", "worker", "reaction", "triggers", "waits for")]
        for step in self.steps:
            worker = "here" if step.worker == HERE else str(step.worker)
            waits = ", ".join(f"#{k}" for k in step.waits_for)
            rows.append((f"#{step.index}", str(step.level), worker, step.path, ", ".join(step.triggers), waits))
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join(lines)


def compile_schedule(top, placement="inline", workers=0):
    """(Schedule, Wiring) of a program whose topmost reactor is `top`; its reactions get their indices.

    Raises:
        CausalityError: reactions that wait for each other, with the path.
    """
    _set_modes(top)
    wiring = Wiring(top)
    before = _waits(top, wiring)
    levels = _levels(before)
    deadlines = _deadlines(wiring.reactions, before, levels)
    order = {reaction: k for k, reaction in enumerate(wiring.reactions)}
    ordered = sorted(order, key=lambda r: (deadlines[r], levels[r], order[r]))
    for index, reaction in enumerate(ordered):
        reaction.index = index
    where, count = place(top, ordered, levels, placement, workers)
    steps = tuple(
        Step(
            index,
            reaction.path,
            reaction.site,
            levels[reaction],
            deadlines[reaction],
            where[reaction.instance],
            tuple(triggers_of(reaction)),
            tuple(sorted(other.index for other in before[reaction])),
        )
        for index, reaction in enumerate(ordered)
    )
    return Schedule(steps, count), wiring


def _set_modes(top):
    for instance in top.walk():
        around = instance.enclosing_modes()
        elements = (*instance.reactions, *instance.actions.values(), *instance.timers.values())
        for element in (*elements, *instance.watchdogs.values(), *instance.connections):
            element.modes = (*around, element.mode) if element.mode else around


def _waits(top, wiring):
    before = {reaction: {} for reaction in wiring.reactions}
    for instance in top.walk():
        for earlier, later in declared_order(instance.reactions):
            before[later][earlier] = None
    for reader, found in wiring.precedences().items():
        for writer, port in found:
            before[reader][writer] = port
    return before


def _levels(before):
    try:
        order = list(TopologicalSorter(before).static_order())
    except CycleError as error:
        raise _causality(before, error.args[1]) from None
    levels = {}
    for reaction in order:
        levels[reaction] = 1 + max((levels[other] for other in before[reaction]), default=-1)
    return levels


def _deadlines(reactions, before, levels):
    found = {r: r.deadline.limit if r.deadline else FOREVER for r in reactions}
    for reaction in sorted(reactions, key=levels.__getitem__, reverse=True):
        for earlier in before[reaction]:
            found[earlier] = min(found[earlier], found[reaction])
    return found


def _causality(before, cycle):
    path = [reaction.path for reaction in cycle]
    lines = []
    for one, other in itertools.pairwise(cycle):
        port = before[other].get(one)
        how = f"by {port.path}" if isinstance(port, Port) else "declared before it in the same reactor"
        lines.append(f"  {one.path} ({one.site}) comes before {other.path}, {how}")
    head = f"Causality cycle {' -> '.join(path)}: each needs the other's output at the same tag."
    advice = "Give one of these connections a delay (after 0 is enough), or declare the reactions in another order."
    return CausalityError("\n".join([head, *lines, advice]), path)
