"""A program: checked and compiled when it is made, run as often as it is made."""

from functools import cached_property

from reactor.execution.loop import Loop
from reactor.execution.tracing import Trace
from reactor.model import declaring
from reactor.model.elements import Port
from reactor.schedule import compile_schedule


class Program:
    """A reactor with everything in it, compiled.

    Arguments:
        top: a Reactor, or a class of one that needs no arguments.
        timeout: nanoseconds of logical time after which it ends; None: when nothing is left to do.
        fast: do not wait for the physical clock.
        keepalive: wait for physical actions when nothing else is left; None: if there are any.
        placement: "inline", all in this process; "packed", on `workers` processes; "isolated", a process per reactor.
        trace: keep a trace, in `trace`.

    Attributes:
        schedule: the Schedule that is executed; prints itself.
        graph: its Graph, for `reactor.draw`.
        trace: the Trace of the run, or None.

    Raises:
        GraphError: what does not fit together; CausalityError: reactions that wait for each other.
    """

    def __init__(
        self,
        top,
        *,
        timeout=None,
        fast=False,
        keepalive=None,
        placement="inline",
        workers=0,
        trace=False,
        before_reaction=None,
    ):
        if isinstance(top, type):
            top = top()
        self.top = declaring.elaborate(top) if isinstance(top, declaring.Reactor) else top
        self.schedule, self._wiring = compile_schedule(self.top, placement, workers)
        self.trace = Trace() if trace else None
        self._settings = {"timeout": timeout, "fast": fast, "keepalive": keepalive, "before_reaction": before_reaction}

    @cached_property
    def graph(self):
        from reactor.schedule.drawing import graph_of

        return graph_of(self.top, self._wiring)

    def run(self):
        """Runs it to its end.

        Raises:
            ReactionError: a reaction raised; the program ended at that tag.
        """
        loop = Loop(self.top, self.schedule, self._wiring, trace=self.trace, **self._settings)
        for instance in self.top.walk():
            if isinstance(instance.object, declaring.Reactor):
                instance.object._clock = loop
                for name, port in instance.ports.items():
                    if isinstance(port, Port):
                        instance.object.__dict__[name] = self._wiring.root(port)
            if instance.make_state:
                instance.make_state(loop)
        loop.run()


def run(top, **settings):
    """Compiles and runs a program; arguments as of `Program`. Returns it."""
    program = Program(top, **settings)
    program.run()
    return program
