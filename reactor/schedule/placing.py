"""The choice of a worker for each reactor."""

from collections import Counter
from typing import Literal, get_args

from reactor.model.elements import Action, Watchdog
from reactor.schedule.sharing import Sharing

HERE = -1  # the process of the program itself
Placement = Literal["inline", "packed", "isolated"]
PLACEMENTS = get_args(Placement)


def place(top, reactions, levels, placement, workers):
    """({reactor: its worker}, number of workers).

    "inline": all here. "isolated": a worker each. "packed": `workers` workers; a reactor goes to the one that has least to do at the
    levels of its reactions. A reactor stays here whose reactions may use a physical action or a watchdog, because other threads and
    the clock reach those at any time, and one that shares with others a global variable that one of them changes, or an object.
    """
    if placement not in PLACEMENTS:
        raise ValueError(f"placement={placement!r} is not known: use one of {', '.join(PLACEMENTS)}")
    where = dict.fromkeys(top.walk(), HERE)
    if placement == "inline":
        return where, 0
    shared = Sharing(reactions).shared()
    movable = dict.fromkeys(r.instance for r in reactions if r.instance not in shared and not _bound(r.instance))
    if placement == "isolated":
        where.update((instance, number) for number, instance in enumerate(movable))
        return where, len(movable)
    busy = [Counter() for _ in range(max(1, workers))]
    for instance in movable:
        mine = Counter(levels[reaction] for reaction in instance.reactions)
        load = [(sum(has[level] for level in mine), has.total(), k) for k, has in enumerate(busy)]
        _, _, where[instance] = min(load)
        busy[where[instance]].update(mine)
    return where, len(busy)


def _bound(instance):
    return instance.shares or any(
        isinstance(effect, Watchdog) or (isinstance(effect, Action) and effect.physical)
        for reaction in instance.reactions
        for effect in (*reaction.effects, *reaction.triggers, *reaction.sources)
    )
