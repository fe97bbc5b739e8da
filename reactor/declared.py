"""Makes the plan of a program of declared reactors, and its Graph for the drawings."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, get_args

from reactor import plan
from reactor.model import graph as g
from reactor.model.elements import EVENTS, Action, Port, Timer, Watchdog
from reactor.model.graph import precedences as declared_order
from reactor.model.levels import SAME_REACTOR
from reactor.model.sharing import Sharing
from reactor.model.time import FOREVER
from reactor.model.wiring import Wiring, triggers_of
from reactor.placement import balance
from reactor.plan import HERE, Plan, Step, Value

if TYPE_CHECKING:
    from reactor.model.elements import Instance

Placement = Literal["inline", "packed", "isolated"]
PLACEMENTS = get_args(Placement)


def plan_of(top: Instance, placement: Placement = "inline", workers: int = 0) -> tuple[Plan, Wiring]:
    """(Plan, Wiring) of a program whose topmost reactor is `top`; its reactions get their indices.

    Arguments:
        placement: "inline": all steps run here. "isolated": a worker for each reactor. "packed": `workers` workers; a reactor goes to the one
            that has least to do at the levels of its reactions. A reactor stays here whose reactions may use a physical action or a watchdog,
            because other threads and the clock reach those at any time, and one that shares with others a global variable that one of them
            changes, or an object.

    Raises:
        CausalityError: reactions that wait for each other, with the path.
    """
    if placement not in PLACEMENTS:
        raise ValueError(f"placement={placement!r} is not known: use one of {', '.join(PLACEMENTS)}")
    _set_modes(top)
    wiring = Wiring(top)
    reactions = wiring.reactions
    position = {reaction: k for k, reaction in enumerate(reactions)}
    reasons = _reasons(top, wiring, position)
    before = [[] for _ in reactions]
    for earlier, later in reasons:
        before[later].append(earlier)

    def place(steps, order):
        for step, k in zip(steps, order):
            reactions[k].index = step.index
        where, count = _placed([reactions[k] for k in order], [step.level for step in steps], placement, workers)
        return [where.get(reactions[k].instance, HERE) for k in order], count

    steps = [_step(reaction, wiring, before[k]) for k, reaction in enumerate(reactions)]
    return plan.make(steps, place, reasons=reasons), wiring


def _step(reaction, wiring, before):
    return Step(
        reactor=reaction.instance.path,
        reaction=reaction.name,
        arguments=_values(wiring, (*reaction.triggers, *reaction.sources)),
        stores=_values(wiring, reaction.effects),
        waits_for=tuple(before),
        name=reaction.path,
        site=reaction.site,
        triggers=tuple(triggers_of(reaction)),
        deadline=reaction.deadline.limit if reaction.deadline else FOREVER,
    )


def _values(wiring, elements):
    ports = (wiring.root(element) for element in elements if isinstance(element, Port))
    return tuple(Value(port.path) for port in dict.fromkeys(ports))


def _set_modes(top):
    for instance in top.walk():
        around = instance.enclosing_modes()
        elements = (*instance.reactions, *instance.actions.values(), *instance.timers.values())
        for element in (*elements, *instance.watchdogs.values(), *instance.connections):
            element.modes = (*around, element.mode) if element.mode else around


def _reasons(top, wiring, position):
    """{(position of a reaction, position of one that runs after it at the same tag): why}"""
    reasons = {}
    for instance in top.walk():
        for earlier, later in declared_order(instance.reactions):
            reasons[position[earlier], position[later]] = SAME_REACTOR
    for reader, found in wiring.precedences().items():
        for writer, port in found:
            reasons[position[writer], position[reader]] = f"by {port.path}"
    return reasons


def _placed(reactions, levels, placement, workers):
    """({reactor: its worker}, number of workers); who is not there stays here."""
    if placement == "inline":
        return {}, 0
    shared = Sharing(reactions).shared()
    movable = {}
    for reaction, level in zip(reactions, levels):
        if reaction.instance not in shared and not _bound(reaction.instance):
            movable.setdefault(reaction.instance, Counter())[level] += 1
    if placement == "isolated":
        return {instance: number for number, instance in enumerate(movable)}, len(movable)
    workers = max(1, workers)
    return dict(zip(movable, balance(((mine, mine.total()) for mine in movable.values()), workers))), workers


def _bound(instance):
    return instance.shares or any(
        isinstance(effect, Watchdog) or (isinstance(effect, Action) and effect.physical)
        for reaction in instance.reactions
        for effect in (*reaction.effects, *reaction.triggers, *reaction.sources)
    )


def graph_of(top, wiring):
    """The Graph of a program: what reactions write and read, each output connected straight to the inputs that it reaches."""
    writes, reads = _ports(wiring)
    reactors = []
    for instance in top.walk():
        if instance.reactions:
            reactors.append(_reactor(instance, writes, reads, wiring))
    connections = []
    for root, writers in writes.items():
        for reached, delay in _targets(wiring, root):
            for reader, there in reads.get(reached, {}).items():
                for writer, here in writers.items():
                    ends = f"{writer.path}.{here}", f"{reader.path}.{there}"
                    connections.append(g.Connection(*ends, delay, site=root.site))
    fed = {connection.target: connection for connection in connections}
    return g.Graph(tuple(reactors), tuple(fed.values()), "ns")


def _ports(wiring):
    """({root: {reactor: name of an output}}, {root: {reactor: name of an input}})"""
    writes, reads = {}, {}
    for reaction in wiring.reactions:
        for port in reaction.effects:
            if isinstance(port, Port):
                writes.setdefault(wiring.root(port), {})[reaction.instance] = _name(port, reaction.instance)
        for port in (*reaction.triggers, *reaction.sources):
            if isinstance(port, Port):
                reads.setdefault(wiring.root(port), {})[reaction.instance] = f"{_name(port, reaction.instance)}"
    for root, readers in reads.items():  # what nothing writes is not drawn
        if not any(root in {target for target, _ in _targets(wiring, other)} for other in writes):
            readers.clear()
    return writes, reads


def _targets(wiring, root):
    """[(a root that gets what is set on `root`, after which delay or None)]"""
    found = []
    for reached in wiring.reached(root):
        found.append((reached, None))
        found.extend((target, connection.delay or 0) for connection, target in wiring.delays.get(reached, ()))
    return found


def _reactor(instance, writes, reads, wiring):
    outputs = {found[instance]: root for root, found in writes.items() if instance in found}
    inputs = {found[instance]: root for root, found in reads.items() if instance in found}
    named_out = {root: name for name, root in outputs.items()}
    named_in = {root: name for name, root in inputs.items()}
    reactions = []
    for reaction in instance.reactions:
        local = [named_in.get(wiring.root(trigger)) for trigger in reaction.triggers if isinstance(trigger, Port)]
        others = [t for t in reaction.triggers if not isinstance(t, Port)]
        outside = dict.fromkeys(_external(trigger) for trigger in others)
        uses = [named_in.get(wiring.root(source)) for source in reaction.sources if isinstance(source, Port)]
        effects = [named_out.get(wiring.root(effect)) for effect in reaction.effects if isinstance(effect, Port)]
        triggers = (*dict.fromkeys(filter(None, local)), *outside)
        mode = reaction.mode.name if reaction.mode else None
        parts = triggers, tuple(dict.fromkeys(filter(None, effects))), tuple(dict.fromkeys(filter(None, uses)))
        reactions.append(g.Reaction(reaction.name, *parts, mode, reaction.site))
    inputs, outputs = (
        tuple(g.Port(name, site=root.site) for name, root in found.items()) for found in (inputs, outputs)
    )
    return g.Reactor(instance.path, inputs, outputs, tuple(reactions), instance.kind, instance.site)


def _external(trigger):
    if trigger in EVENTS:
        return "startup" if trigger == "startup" else "shutdown" if trigger == "shutdown" else "outside"
    return "startup" if isinstance(trigger, Timer) else "outside"


def _name(port, instance):
    return port.path[len(instance.path) + 1 :] if port.path.startswith(instance.path + ".") else port.path
