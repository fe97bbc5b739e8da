"""Levels: the order of what runs at one tag, and the error for what waits for itself."""

from __future__ import annotations

import itertools
from graphlib import CycleError, TopologicalSorter

TYPE_CHECKING = False  # like that of typing, without the import
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping
    from typing import TypeVar

    Node = TypeVar("Node", bound=Hashable)

SAME_REACTOR = "declared before it in the same reactor"  # why one reaction comes before another


class GraphError(ValueError):
    """The graph is wrong. Each line of the message has one problem and the line of its declaration."""


class CausalityError(GraphError):
    """Reactions that each need another's output at the same tag.

    `path` is their qualified names, the first one again at the end.
    """

    def __init__(self, message: str, path: list[str]) -> None:
        super().__init__(message)
        self.path = path


def levels(
    before: Mapping[Node, Mapping[Node, str]], name_and_site: Callable[[Node], tuple[str, str]]
) -> dict[Node, int]:
    """{node: its level}, in the order of `before`: 0, or one more than the highest of those that it runs after.

    Arguments:
        before: {node: {one that runs before it: why, such as "by a.out -> b.in (file.py:3)"}}.
        name_and_site: gives the (name, "file.py:3") of a node, for the error.

    Raises:
        CausalityError: nodes that wait for each other, with the path.
    """
    try:
        order = list(TopologicalSorter(before).static_order())
    except CycleError as error:
        raise _causality(before, error.args[1], name_and_site) from None
    found = {}
    for node in order:
        found[node] = 1 + max((found[other] for other in before[node]), default=-1)
    return {node: found[node] for node in before}


def _causality(before, cycle, name_and_site):
    path = [name_and_site(node)[0] for node in cycle]
    rows = [
        f"  {' ('.join(name_and_site(one))}) comes before {name_and_site(other)[0]}, {before[other][one]}"
        for one, other in itertools.pairwise(cycle)
    ]
    head = f"Causality cycle {' -> '.join(path)}: each needs the other's output at the same tag."
    advice = (
        "Give one of these connections a delay (0 is enough), or declare the reactions of the reactor in another order."
    )
    return CausalityError("\n".join([head, *rows, advice]), path)
