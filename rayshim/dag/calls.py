"""The actor calls that run the plan of a compiled graph: one for each activation. Makes no call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reactor.execution.stages import consumers
from reactor.plan import Constant, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reactor.execution.stages import Activation, Cut
    from reactor.plan import Plan, Step

PLAIN = (int, float, complex, bool, str, bytes, type(None))


@dataclass
class Call:
    """One actor call of an execution.

    Attributes:
        stage: its number among those of the actor.
        takes, gives: places in the execution's table of inputs and results.
        method: its name, where it can be called just as it is; else "".
        arguments: of the method; what a place is to fill is None.
        fills: (position among the arguments, place) each.
    """

    actor: Any
    stage: int
    takes: list[int]
    gives: list[int]
    method: str = ""
    arguments: tuple[Any, ...] = ()
    fills: tuple[tuple[int, int], ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)


def calls(plan: Plan, cut: Cut, separate: bool = False) -> list[Call]:
    """A Call for each activation of `cut`, in their order. With `separate=True`, each of them names its stage, also where the method can be called."""
    taken_by = consumers(plan.steps)
    return [_call(activation, plan.steps, taken_by, separate) for activation in cut.activations]


def _call(activation: Activation, steps: Sequence[Step], taken_by: dict[Value, list[Step]], separate: bool) -> Call:
    (step, *more) = activation.steps
    call = Call(step.reactor, activation.number, activation.takes, activation.gives)
    if separate or more or not _is_plain(activation, step, steps, taken_by):
        return call
    place = dict(zip(dict.fromkeys(step.inputs), activation.takes))
    call.method, call.keywords = step.reaction, step.keywords
    call.arguments = tuple(a.value if isinstance(a, Constant) else None for a in step.arguments)
    call.fills = tuple((at, place[a]) for at, a in enumerate(step.arguments) if isinstance(a, Value))
    return call


def _is_plain(activation, step, steps, taken_by):
    """Whether an ordinary call of the method does the same. This is so if no value stays in the actor, and no value is shared with another of its
    steps, which would get the same object."""

    def takers_here(value):
        return sum(other.worker == step.worker for other in taken_by.get(value, ()))

    constants = [a.value for a in step.arguments if isinstance(a, Constant)]
    return (
        isinstance(step.reaction, str)
        and len(activation.gives) == len(step.stores)
        and len(set(step.inputs)) == len(step.inputs)
        and not any(not v.is_input and steps[v.source].worker == step.worker for v in step.inputs)
        and all(isinstance(c, PLAIN) for c in [*constants, *step.keywords.values()])
        and not any(takers_here(v) for v in step.stores)
        and all(takers_here(v) == 1 for v in step.inputs)
    )
