"""The common content of all drawings: reactions as nodes in groups, and arrows between them; similar reactors are drawn as one."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from reactor.draw.timings import Timings, size

TYPE_CHECKING = False  # like that of typing, without the import
if TYPE_CHECKING:
    from reactor.model.graph import Graph

FOLD = 4  # more alike reactors than this are drawn as one
_MOST_LABELS = 3  # lines of an arrow's label


@dataclass(frozen=True)
class Node:
    """A reaction; of `times` alike reactors, when they are folded."""

    id: str  # unique, of letters and digits
    group: str
    name: str
    site: str
    level: int
    timing: str  # "1,234/s · 34%", "" when not known
    share: float | None  # of the wall time; of one process each, when folded
    times: int = 1


@dataclass(frozen=True)
class Group:
    """A reactor, or several alike ones: "Env#0..7"."""

    id: str
    name: str
    kind: str
    site: str
    nodes: tuple[Node, ...]
    place: str = ""  # "worker 0", where it shares a process

    @property
    def title(self) -> str:
        return f"{self.name} · {self.place}" if self.place else self.name


@dataclass(frozen=True)
class Arrow:
    """All that flows from one node to another with the same delay (None: none); a label per kind of value."""

    source: Node
    target: Node
    delay: float | None
    labels: tuple[str, ...]
    details: tuple[str, ...]  # "Env#0.step.result -> driver.get 0.result  (train.py:21)"

    @property
    def short(self) -> tuple[str, ...]:
        """The labels, at most three lines."""
        more = len(self.labels) - _MOST_LABELS
        return self.labels if more <= 0 else (*self.labels[: _MOST_LABELS - 1], f"and {more + 1} more")


@dataclass(frozen=True)
class Picture:
    groups: tuple[Group, ...]
    arrows: tuple[Arrow, ...]
    unit: str

    @property
    def levels(self):
        """The nodes of each level."""
        by_level = defaultdict(list)
        for group in self.groups:
            for node in group.nodes:
                by_level[node.level].append(node)
        return [by_level[level] for level in sorted(by_level)]


def picture(graph: Graph, timings: Timings | None = None, fold: int | None = FOLD) -> Picture:
    """The Picture of `graph`.

    Arguments:
        timings: a `Timings`, or None.
        fold: more than so many alike reactors become one group; None: never. Alike are reactors of one kind and of one
            name before "#", with the same reactions on the same levels.
    """
    timings = timings or Timings()
    members = defaultdict(list)
    for key, reactors in _alike(graph, fold):
        members[key].extend(reactors)
    groups, node_of = [], {}
    for g, reactors in enumerate(members.values()):
        name = _joint_name(reactors)
        nodes = []
        for r, reaction in enumerate(reactors[0].reactions):
            same = [reactor.reactions[r].qualified for reactor in reactors]
            timing = timings.of(same)
            label, share = timings.label(timing), timings.share(timing)
            level = graph.levels[reaction.qualified]
            node = Node(f"g{g}n{r}", name, reaction.name, reaction.site, level, label, share, len(reactors))
            nodes.append(node)
            node_of.update(dict.fromkeys(same, node))
        place = timings.place([reactor.name for reactor in reactors])
        groups.append(Group(f"g{g}", name, reactors[0].kind, reactors[0].site, tuple(nodes), place))
    return Picture(tuple(groups), _arrows(graph, node_of), graph.unit)


def _alike(graph, fold):
    """(key, [reactor]) pairs: the reactors in order, under one key those that are drawn as one."""
    keys = {}
    for reactor in graph.reactors:
        prefix, mark, _ = reactor.name.partition("#")
        shape = tuple((reaction.name, graph.levels[reaction.qualified]) for reaction in reactor.reactions)
        keys[reactor.name] = (prefix, reactor.kind, shape) if mark else reactor.name
    count = Counter(keys.values())
    for reactor in graph.reactors:
        key = keys[reactor.name]
        yield (key if fold is not None and count[key] > fold else reactor.name), [reactor]


def _joint_name(reactors):
    if len(reactors) == 1:
        return reactors[0].name
    prefix = reactors[0].name.partition("#")[0]
    numbers = [reactor.name.partition("#")[2] for reactor in reactors]
    return f"{prefix}#{numbers[0]}..{numbers[-1]}"


def _arrows(graph, node_of):
    kinds, details = defaultdict(Counter), defaultdict(list)
    for edge in graph.edges:
        c = edge.connection
        arrow = node_of[edge.source.qualified], node_of[edge.target.qualified], c.delay
        kinds[arrow][edge.port.layout, edge.port.bytes] += c.count
        details[arrow].append(f"{c.qualified}  ({c.site})")
    return tuple(Arrow(*arrow, _labels(values), tuple(details[arrow])) for arrow, values in kinds.items())  # pyright: ignore[reportCallIssue]


def _labels(values):
    texts = []
    for (layout, count_bytes), count in values.items():
        what = " · ".join(filter(None, (layout, size(count_bytes))))
        texts.append(
            f"{count:,} × {what}".rstrip(" ×") if what and count > 1 else what or (f"× {count:,}" if count > 1 else "")
        )
    return tuple(filter(None, texts))
