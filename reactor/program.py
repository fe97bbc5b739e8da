"""A program: checked and compiled when it is created, then run."""

from __future__ import annotations

import os
from contextlib import nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

from reactor import codec
from reactor.declared import graph_of, plan_of
from reactor.execution import sending
from reactor.execution.loading import uncollected
from reactor.execution.loop import Loop
from reactor.execution.part import bind
from reactor.execution.tracing import Trace
from reactor.model import declaring
from reactor.plan import HERE

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import TypedDict

    from reactor.declared import Placement
    from reactor.model.elements import Instance
    from reactor.model.graph import Graph
    from reactor.plan import Plan
    from typing_extensions import Unpack

    class Settings(TypedDict, total=False):
        """The arguments of `Program` by name."""

        timeout: int | None
        fast: bool
        keepalive: bool | None
        placement: Placement
        workers: int
        trace: bool
        before_reaction: Callable[[], object] | None
        source: tuple[str, str | None] | None
        during: Callable[[Any], AbstractContextManager[object]] | None


class Program:
    """A reactor with everything in it, compiled.

    Arguments:
        top: a Reactor, or a class of one that needs no arguments.
        timeout: nanoseconds of logical time after which it ends; None: when nothing is left to do.
        fast: do not wait for the physical clock.
        keepalive: wait for physical actions when nothing else is left; None: if there are any.
        placement: "inline", all in this process; "packed", on `workers` processes; "isolated", a process per reactor.
        trace: keep a trace, in `trace`.
        before_reaction: called before each reaction.
        source: arguments of `reactor.lf.instantiating.load`, if the program comes from an .lf file.
        during: called with the executor; what it returns is entered (`with`) while the program runs.

    Attributes:
        plan: the Plan that is executed; prints itself.
        graph: its Graph, for `reactor.draw`.
        trace: the Trace of the run, or None.

    Raises:
        GraphError: what does not fit together; CausalityError: reactions that wait for each other.
    """

    def __init__(
        self,
        top: declaring.Reactor | type[declaring.Reactor] | Instance,
        *,
        timeout: int | None = None,
        fast: bool = False,
        keepalive: bool | None = None,
        placement: Placement = "inline",
        workers: int = 0,
        trace: bool = False,
        before_reaction: Callable[[], object] | None = None,
        source: tuple[str, str | None] | None = None,
        during: Callable[[Any], AbstractContextManager[object]] | None = None,
    ) -> None:
        if isinstance(top, type):
            top = top()
        with uncollected():
            self.top: Instance = declaring.elaborate(top) if isinstance(top, declaring.Reactor) else top
            self._placement, self._recipe = placement, None
            if placement != "inline":
                with sending.refusing():
                    self._recipe = source or codec.pickled(self.top)
            self.plan: Plan
            self.plan, self._wiring = plan_of(self.top, placement, workers or os.cpu_count() or 1)
        self.trace: Trace | None = Trace() if trace else None
        self._during = during or nullcontext
        self._settings = {"timeout": timeout, "fast": fast, "keepalive": keepalive, "before_reaction": before_reaction}

    @cached_property
    def graph(self) -> Graph:
        return graph_of(self.top, self._wiring)

    def run(self) -> None:
        """Runs it to its end.

        Raises:
            ReactionError: a reaction raised; the program ended at that tag.
        """
        if self._recipe is None:
            loop = Loop(self.top, self.plan, self._wiring, trace=self.trace, **self._settings)
        else:
            from reactor.execution.workers import WorkersLoop

            how = {"recipe": self._recipe, "placement": self._placement, **self._settings}
            loop = WorkersLoop(self.top, self.plan, self._wiring, trace=self.trace, **how)
        bind(self.top, self._wiring, loop)
        here = {
            reaction.instance for reaction in self._wiring.reactions if self.plan.steps[reaction.index].worker == HERE
        }
        for instance in self.top.walk():
            if instance.make_state and (instance in here or self._recipe is None):
                instance.make_state(loop)
        with self._during(loop):
            loop.run()


def run(top: declaring.Reactor | type[declaring.Reactor] | Instance, **settings: Unpack[Settings]) -> Program:
    """Compiles and runs a program; arguments as of `Program`. Returns it."""
    program = Program(top, **settings)
    program.run()
    return program
