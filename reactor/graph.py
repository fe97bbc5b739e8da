"""A reactor graph: reactors with ports and reactions, connected; the names of `reactor.model.graph`."""

from reactor.model.graph import (
    EXTERNAL,
    CausalityError,
    Connection,
    Edge,
    Graph,
    GraphError,
    Port,
    Reaction,
    Reactor,
    precedences,
)

__all__ = [
    "EXTERNAL",
    "CausalityError",
    "Connection",
    "Edge",
    "Graph",
    "GraphError",
    "Port",
    "Reaction",
    "Reactor",
    "precedences",
]
