"""A program as a Graph, for the drawings."""

from reactor.model import graph as g
from reactor.model.elements import EVENTS, Port, Timer


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
