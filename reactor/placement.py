"""The choice of a worker for each of many reactors or actors. Pure functions over plain data."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from reactor.recording.patterns import CREATION

TYPE_CHECKING = False  # like that of typing, without the import
if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

    from reactor.recording.patterns import Recording

SLACK = 1.1  # actors that exchange much data stay together up to this multiple of a worker's fair share of the time


@dataclass(frozen=True)
class Measured:
    """Measurements of actors.

    Attributes:
        seconds: {actor: time that its methods ran}, in the order of creation.
        traffic: {(actor, actor): bytes sent from the first to the second}.
    """

    seconds: dict[str, float]
    traffic: dict[tuple[str, str], float] = field(default_factory=dict)


def measured(recording: Recording) -> Measured:
    """The measurements of the actors in a `reactor.recording.patterns.Recording`."""
    from reactor.recording.graph import graph_of

    seconds, traffic = defaultdict(float), defaultdict(float)
    for reaction in sorted(recording.measured, key=_by_number):
        actor = _actor(reaction)
        if actor:
            seconds[actor] += recording.measured[reaction].seconds or 0.0
    for edge in graph_of(recording).edges:
        pair = _actor(edge.source.qualified), _actor(edge.target.qualified)
        if all(pair):
            traffic[pair] += max(edge.port.bytes, 1) * edge.connection.count
    return Measured(dict(seconds), dict(traffic))


def unreturned(recording: Recording) -> list[str]:
    """The actors with a method that was called, but none of whose calls has ended. They must not block other actors."""
    called = {}  # reaction -> actor
    for pattern in recording.patterns:
        for operation in pattern.operations:
            if "#" in operation.target and operation.method != CREATION:
                called[operation.name] = operation.target
    ended = {reaction for reaction, timing in recording.measured.items() if timing.calls}
    return sorted(
        {actor for reaction, actor in called.items() if reaction not in ended},
        key=lambda actor: _by_number(f"{actor}."),
    )


def _actor(reaction):
    """ "Env#3" for "Env#3.step"; "" for a reaction of a task or of the driver."""
    name = reaction.rpartition(".")[0]
    return name if "#" in name else ""


def _by_number(reaction):
    kind, _, number = _actor(reaction).rpartition("#")
    return kind, int(number or 0), reaction


def group(measured: Measured, workers: int, without: Collection[str] = ()) -> list[list[str]]:
    """Divides the actors, except those in `without`, into `workers` groups (lists, which may be empty). The groups have about the same time. As far
    as this allows, actors that exchange much data are in the same group. The result depends only on the data."""
    if workers < 1:
        raise ValueError(f"group(workers={workers}): at least one worker is needed")
    measured = Measured({actor: s for actor, s in measured.seconds.items() if actor not in without}, measured.traffic)
    order = {actor: i for i, actor in enumerate(measured.seconds)}
    together = _clusters(measured, sum(measured.seconds.values()) / workers * SLACK, order)
    together.sort(key=lambda c: (-_seconds(measured, c), order[c[0]]))  # longest first
    groups = [[] for _ in range(workers)]
    for cluster, k in zip(together, balance((({"s": _seconds(measured, c)}, len(c)) for c in together), workers)):
        groups[k] += cluster
    return [sorted(actors, key=order.get) for actors in groups]  # pyright: ignore[reportArgumentType, reportCallIssue]


def balance(loads: Iterable[tuple[Mapping[Hashable, float], int]], workers: int) -> list[int]:
    """The worker of each item, chosen one after the other: the one with the least load of the kinds that the item has; of several, the one with the
    fewest parts.

    Arguments:
        loads: for each item ({kind of load: amount}, number of its parts). Only loads of one kind are at the same time: of one level, say.
    """
    load, parts = [Counter() for _ in range(workers)], [0] * workers
    chosen = []
    for mine, count in loads:
        k = min(range(workers), key=lambda k: (sum(load[k][kind] for kind in mine), parts[k], k))
        load[k].update(mine)  # pyright: ignore[reportArgumentType]  a Counter takes floats, too
        parts[k] += count
        chosen.append(k)
    return chosen


def least_loaded(actors: Sequence[int]) -> int:
    """The index of the worker for one more actor. `actors`: the number of actors of each worker."""
    return min(range(len(actors)), key=actors.__getitem__)


def _clusters(measured, most, order):
    """Lists of actors that stay together. Pairs with the most traffic are joined first, as long as a cluster takes at most `most` of the time."""
    between = defaultdict(float)
    for (a, b), size in measured.traffic.items():
        if a != b and a in order and b in order:
            between[min(a, b, key=order.get), max(a, b, key=order.get)] += size
    cluster_of = {actor: [actor] for actor in measured.seconds}
    for a, b in sorted(between, key=lambda pair: (-between[pair], order[pair[0]], order[pair[1]])):
        first, second = cluster_of[a], cluster_of[b]
        if first is second or _seconds(measured, first) + _seconds(measured, second) > most:
            continue
        first += second
        cluster_of.update(dict.fromkeys(second, first))
    return list({id(cluster): cluster for cluster in cluster_of.values()}.values())


def _seconds(measured, actors):
    return sum(measured.seconds[actor] for actor in actors)
