"""A reactor graph: reactors with ports and reactions, connected; checked when it is made; its levels.

Vocabulary and semantics are Lingua Franca's (Lohstroh et al., "Toward a Lingua Franca for Deterministic Concurrent Systems",
2021). At one tag a reaction runs after the reactions whose output it reads, and after the reactions declared before it in
its own reactor; a delayed connection carries its value to a later tag. Built by hand:

    source = Reactor("source", outputs=[Port("out", "int")], reactions=[Reaction("emit", ["startup"], ["out"])])
    sink = Reactor("sink", inputs=[Port("in", "int")], reactions=[Reaction("take", ["in"])])
    graph = Graph([source, sink], [Connection("source.out", "sink.in")])
"""

from __future__ import annotations

import os
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import cached_property

from reactor.model.levels import SAME_REACTOR, GraphError, levels

TYPE_CHECKING = False  # like that of typing, without the import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

EXTERNAL = ("startup", "shutdown", "outside")  # triggers that are no ports; "outside" is LF's physical action


def _declared_here():
    code = sys._getframe(2)  # 0 this function, 1 the dataclass's __init__, 2 who declares
    path = code.f_code.co_filename
    here = os.path.relpath(path) if path.startswith(os.getcwd() + os.sep) else path
    return f"{here}:{code.f_lineno}"


@dataclass(frozen=True)
class Port:
    """An input or output of a reactor. `layout` and `bytes` describe its values, "" and 0 when not known."""

    name: str
    layout: str = ""
    bytes: int = 0
    site: str = field(default_factory=_declared_here)
    reactor: str = ""  # set by the Reactor that has it

    @property
    def qualified(self) -> str:
        return f"{self.reactor}.{self.name}"


@dataclass(frozen=True)
class Reaction:
    """Code of a reactor that runs when one of its triggers is present.

    Attributes:
        triggers: names of its reactor's inputs, or "startup", "shutdown", "outside".
        effects: names of the outputs that it may write.
        uses: names of the inputs that it reads without being triggered by them.
        mode: reactions of one reactor in two different modes never run at the same tag; None: in every mode.
    """

    name: str
    triggers: Sequence[str] = ()
    effects: Sequence[str] = ()
    uses: Sequence[str] = ()
    mode: str | None = None
    site: str = field(default_factory=_declared_here)
    reactor: str = ""  # set by the Reactor that has it

    def __post_init__(self) -> None:
        _as_tuples(self, "triggers", "effects", "uses")

    @property
    def qualified(self) -> str:
        return f"{self.reactor}.{self.name}"


@dataclass(frozen=True)
class Reactor:
    """State with reactions over it. The order of `reactions` is their order at one tag. `kind` is free text for drawings."""

    name: str
    inputs: Sequence[Port] = ()
    outputs: Sequence[Port] = ()
    reactions: Sequence[Reaction] = ()
    kind: str = ""
    site: str = field(default_factory=_declared_here)

    def __post_init__(self) -> None:
        for part in ("inputs", "outputs", "reactions"):
            owned = tuple(replace(element, reactor=self.name) for element in getattr(self, part))
            object.__setattr__(self, part, owned)

    @property
    def qualified(self) -> str:
        return self.name


@dataclass(frozen=True)
class Connection:
    """From an output to an input, both by qualified name ("Env.action") or as the Port of a reactor.

    Attributes:
        delay: None: the value arrives at the same tag. A number: that much later, in the graph's unit; 0 is the next
            microstep, LF's `after 0`.
        count: messages each time its writer runs, where known.
    """

    source: str
    target: str
    delay: float | None = None
    count: int = 1
    site: str = field(default_factory=_declared_here)

    def __post_init__(self) -> None:
        for end in ("source", "target"):
            object.__setattr__(self, end, getattr(getattr(self, end), "qualified", getattr(self, end)))

    @property
    def qualified(self) -> str:
        return f"{self.source} -> {self.target}"


@dataclass(frozen=True)
class Edge:
    """A connection as seen by one reaction that writes it and one that reads it."""

    source: Reaction
    target: Reaction
    connection: Connection
    port: Port  # the output


@dataclass(frozen=True)
class Graph:
    """Reactors and their connections. Raises GraphError or CausalityError when they do not fit together.

    `unit` is the unit of the connections' delays.
    """

    reactors: Sequence[Reactor] = ()
    connections: Sequence[Connection] = ()
    unit: str = "s"

    def __post_init__(self) -> None:
        _as_tuples(self, "reactors", "connections")
        problems = list(_problems(self))
        if problems:
            raise GraphError("\n".join(problems))
        _ = self.levels  # raises for a causality cycle

    @cached_property
    def reactions(self) -> dict[str, Reaction]:
        """{qualified name: Reaction}"""
        return {reaction.qualified: reaction for reactor in self.reactors for reaction in reactor.reactions}

    @cached_property
    def ports(self) -> dict[str, Port]:
        """{qualified name: Port}"""
        return {port.qualified: port for reactor in self.reactors for port in (*reactor.inputs, *reactor.outputs)}

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """An Edge per connection, per reaction that writes it, per reaction that reads it."""
        writers, readers = defaultdict(list), defaultdict(list)
        for reaction in self.reactions.values():
            for name in reaction.effects:
                writers[f"{reaction.reactor}.{name}"].append(reaction)
            for name in (*reaction.triggers, *reaction.uses):
                readers[f"{reaction.reactor}.{name}"].append(reaction)
        return tuple(
            Edge(writer, reader, connection, self.ports[connection.source])
            for connection in self.connections
            for writer in writers[connection.source]
            for reader in readers[connection.target]
        )

    @cached_property
    def levels(self) -> dict[str, int]:
        """{qualified name of a reaction: its level}: 0, or one more than the highest that it must run after at one tag."""
        before = {name: {} for name in self.reactions}
        for edge in self.edges:
            c = edge.connection
            if c.delay is None:
                before[edge.target.qualified].setdefault(edge.source.qualified, f"by {c.qualified} ({c.site})")
        for reactor in self.reactors:
            for earlier, later in precedences(reactor.reactions):
                before[later.qualified].setdefault(earlier.qualified, SAME_REACTOR)
        return levels(before, lambda name: (name, self.reactions[name].site))

    @property
    def depth(self) -> int:
        return 1 + max(self.levels.values(), default=-1)

    def __str__(self) -> str:
        return f"{len(self.reactors)} reactors, {len(self.reactions)} reactions, {self.depth} levels"


def precedences(reactions: Iterable[Reaction]) -> Iterator[tuple[Reaction, Reaction]]:
    """Pairs (earlier, later) of one reactor's reactions that may meet at one tag, in declaration order, without those implied."""
    common, moded = None, {}
    for reaction in reactions:
        if reaction.mode is None:
            yield from ((earlier, reaction) for earlier in moded.values() or ([common] if common else []))
            common, moded = reaction, {}
        else:
            earlier = moded.get(reaction.mode, common)
            if earlier:
                yield earlier, reaction
            moded[reaction.mode] = reaction


def _problems(graph):
    yield from _duplicates("reactor", graph.reactors)
    inputs, outputs = {}, {}
    for reactor in graph.reactors:
        yield from _duplicates("port", (*reactor.inputs, *reactor.outputs))
        yield from _duplicates("reaction", reactor.reactions)
        ins, outs = {p.name for p in reactor.inputs}, {p.name for p in reactor.outputs}
        inputs.update((p.qualified, p) for p in reactor.inputs)
        outputs.update((p.qualified, p) for p in reactor.outputs)
        for reaction in reactor.reactions:
            what = f"Reaction {reaction.qualified} ({reaction.site})"
            for name in (*reaction.triggers, *reaction.uses):
                if name not in ins and not (name in EXTERNAL and name in reaction.triggers):
                    wrong = "an output" if name in outs else "not declared"
                    yield f"{what} reads {name!r}, which is {wrong}: declare an input of that name in {reactor.name}"
            for name in reaction.effects:
                if name not in outs:
                    wrong = "an input" if name in ins else "not declared"
                    yield f"{what} writes {name!r}, which is {wrong}: declare an output of that name in {reactor.name}"
    fed = {}
    for c in graph.connections:
        what = f"Connection {c.qualified} ({c.site})"
        if c.source not in outputs:
            wrong = "an input" if c.source in inputs else "not declared"
            yield f"{what} starts at {c.source}, which is {wrong}: connect from an output to an input"
        if c.target not in inputs:
            wrong = "an output" if c.target in outputs else "not declared"
            yield f"{what} ends at {c.target}, which is {wrong}: connect from an output to an input"
        if c.target in fed:
            other = fed[c.target]
            yield f"{what}: {c.target} is connected already, from {other.source} ({other.site}): give it an input of its own"
        if c.delay is not None and c.delay < 0:
            yield f"{what} has delay {c.delay} {graph.unit}: a delay is None, 0 or more"
        fed[c.target] = c
    for name, port in inputs.items():
        if name not in fed:
            yield f"Input {name} ({port.site}) is not connected: connect an output to it or leave it out"


def _duplicates(kind, elements):
    count = Counter(element.qualified for element in elements)
    for name in (name for name, n in count.items() if n > 1):
        declared_at = ", ".join(element.site for element in elements if element.qualified == name)
        yield f"The {kind} {name} is declared {count[name]} times ({declared_at}): give each a name of its own"


def _as_tuples(element, *names):
    for name in names:
        object.__setattr__(element, name, tuple(getattr(element, name)))
