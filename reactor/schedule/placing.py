"""Which worker has which reactor."""

import dis
from collections import Counter
from types import CodeType, FunctionType

from reactor.model.elements import Action, Watchdog

HERE = -1  # the process of the program itself
PLACEMENTS = ("inline", "packed", "isolated")


def place(top, reactions, levels, placement, workers):
    """({reactor: its worker}, number of workers).

    "inline": all here. "isolated": a worker each. "packed": `workers` workers; a reactor goes to the one that has least to do at the
    levels of its reactions. A reactor stays here whose reactions may use a physical action or a watchdog, because other threads and
    the clock reach those at any time, and one that shares a global variable with others, which lies in one process.
    """
    if placement not in PLACEMENTS:
        raise ValueError(f"placement={placement!r} is not known: use one of {', '.join(PLACEMENTS)}")
    where = dict.fromkeys(top.walk(), HERE)
    if placement == "inline":
        return where, 0
    shared = set().union(*(_assigned(reaction) for reaction in reactions))
    movable = dict.fromkeys(r.instance for r in reactions if not _bound(r.instance) and not _uses(r.instance, shared))
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
    return any(
        isinstance(effect, Watchdog) or (isinstance(effect, Action) and effect.physical)
        for reaction in instance.reactions
        for effect in (*reaction.effects, *reaction.triggers, *reaction.sources)
    )


def _codes(reaction):
    """The code of a reaction, of its handlers, of the methods of its reactor, and of what is defined in them."""
    handlers = [reaction.deadline.function] if reaction.deadline else []
    methods = [value for value in vars(type(reaction.instance.object)).values() if isinstance(value, FunctionType)]
    ahead = [function.__code__ for function in (reaction.function, *handlers, *methods)]
    while ahead:
        code = ahead.pop()
        yield code
        ahead.extend(constant for constant in code.co_consts if isinstance(constant, CodeType))


def _assigned(reaction):
    """Names of the global variables that a reaction assigns."""
    return {
        instruction.argval
        for code in _codes(reaction)
        for instruction in dis.get_instructions(code)
        if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")
    }


def _uses(instance, names):
    return bool(names) and any(
        names & set(code.co_names) for reaction in instance.reactions for code in _codes(reaction)
    )
