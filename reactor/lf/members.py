"""Makes the elements of an instance from the members of its reactor class."""

import copy
from functools import partial
from typing import Any

from reactor.lf import code, spaces
from reactor.lf import syntax as s
from reactor.lf.errors import at, warn
from reactor.lf.names import Channel
from reactor.model import elements as e
from reactor.model import time as times
from reactor.model.time import FOREVER, NEVER


class Filler:
    """Gives an Instance its elements."""

    def __init__(self, builder, instance, self_):
        self.builder, self.instance, self.self_ = builder, instance, self_
        self.contained, self.states = {}, []
        self.fed = {}  # {port: [(mode, the connection that ends there)]}
        self.federated = False

    def fill(self, members):
        self.federated = any("federated" in reactor.kinds for reactor, _ in members) and self.instance.parent is None
        everything: list[tuple[Any, Any, e.Mode | None]] = [(reactor, member, None) for reactor, member in members]
        for reactor, member in members:
            if isinstance(member, s.Mode):
                mode = self.instance.modes[member.name] = e.Mode(
                    self.instance, member.name, member.initial, member.site
                )
                everything.extend((reactor, inner, mode) for inner in member.members)
        for kinds in (
            (s.Port, s.State),
            (s.Timer, s.Action),
            (s.Watchdog,),
            (s.Instantiation,),
            (s.Connection,),
            (s.Reaction,),
        ):
            for reactor, member, mode in everything:
                if isinstance(member, kinds):
                    getattr(self, f"_{type(member).__name__.lower()}")(reactor, member, mode)

    def _value(self, expression):
        return self.builder.value(expression, self.self_)

    def _duration(self, expression):
        value = self._value(expression)
        if type(value) is not int or (expression.kind == "value" and value != 0):
            raise at(expression, f"{value!r} is not a time value: write a number and a unit, such as 10 ms")
        if value < 0 and value != NEVER:
            raise at(expression, f"{value} ns is less than 0: a time value here is 0 or more")
        return value

    def _width(self, width):
        if width is None:
            return None
        total = 0
        for term in width.terms:
            count = len(self._channels(term)) if isinstance(term, s.Reference) else self._value(term)
            if type(count) is not int or count < 0:
                raise at(width, f"{count!r} is not a width: it must be a whole number, 0 or more")
            total += count
        return total

    # ---- elements

    def _port(self, reactor, node, mode):
        def channel(number=None):
            return Channel(self.instance, node.name, node.is_input, node.mutable, node.site, number)

        width = self._width(node.width)
        port = channel() if width is None else e.Multiport(node.name, map(channel, range(width)), channel)
        self.instance.ports[node.name] = port

    def _timer(self, reactor, node, mode):
        offset, period = (self._duration(one) if one else 0 for one in (node.offset, node.period))
        self.instance.timers[node.name] = e.Timer(self.instance, node.name, offset, period, mode, node.site)

    def _action(self, reactor, node, mode):
        delay = self._duration(node.delay) if node.delay else 0
        spacing = self._duration(node.spacing) if node.spacing else None
        if node.policy not in e.POLICIES:
            raise at(node, f"policy {node.policy!r} is not known: use one of {', '.join(e.POLICIES)}")
        parts = node.physical, delay, spacing, node.policy, mode, node.site
        self.instance.actions[node.name] = e.Action(self.instance, node.name, *parts)

    def _watchdog(self, reactor, node, mode):
        _, arguments = self._effects(node.effects)
        names, values = zip(*arguments.items()) if arguments else ((), ())
        scope, read_only = self.self_.__scope__, self.self_.__parameters__
        handler = code.function(node, node.code, f"watchdog_{node.name}", ["self", *names], scope, read_only)
        timeout = self._duration(node.timeout)
        watchdog = e.Watchdog(self.instance, node.name, timeout, handler, values, mode, node.site)
        self.instance.watchdogs[node.name] = watchdog

    def _state(self, reactor, node, mode):
        self.states.append((mode, node))
        self.self_.__initializers__[node.name] = partial(self.builder.state_before, node, self.self_)

    def _instantiation(self, reactor, node, mode):
        declared = self.builder.files.reactor(reactor.file, node.reactor, node)
        width = self._width(node.width)
        children = []
        for bank_index in range(1 if width is None else width):
            names = {"bank_index": bank_index}  # 0 for a reactor that is in no bank
            given = {name: self.builder.value(value, self.self_, names) for name, value in node.arguments.items()}
            name = node.name if width is None else f"{node.name}[{bank_index}]"
            federate = self._federate(node) if self.federated else None
            if federate:
                given = spaces.copies(given, self.builder.scope)
            child = self.builder.instance(declared, name, self.instance, mode, {**names, **given}, node, federate)
            self.instance.children.append(child)
            children.append(child)
        self.contained[node.name] = children
        shown = [e.Contained(child.ports) for child in children]
        self.contained[node.name, "shown"] = shown[0] if width is None else shown

    def _federate(self, node):
        waits = self._attribute(node, "maxwait", FOREVER) if self.builder.decentralised else None
        return e.Federate(maxwait=waits, transient="transient" in node.attributes)

    def _attribute(self, node, name, otherwise):
        """The time value of an attribute."""
        (value,) = node.attributes.get(name) or [None]
        if value is None:
            return otherwise
        try:
            return times.parse(str(value))
        except ValueError as error:
            raise at(node, f"@{name}: {error}") from None

    # ---- connections

    def _channels(self, reference):
        if reference.container is None:
            if reference.name not in self.instance.ports:
                raise at(reference, f"there is no port {reference.name} in this reactor")
            return e.channels(self.instance.ports[reference.name])
        if reference.container not in self.contained:
            raise at(reference, f"there is no reactor {reference.container} in this reactor")
        bank = self.contained[reference.container]
        for child in bank:
            if reference.name not in child.ports:
                raise at(reference, f"reactor {child.kind} has no port {reference.name}")
        ports = [e.channels(child.ports[reference.name]) for child in bank]
        if reference.interleaved:
            return [port for group in zip(*ports) for port in group]
        return [port for group in ports for port in group]

    def _connection(self, reactor, node, mode):
        sources = [port for reference in node.sources for port in self._channels(reference)]
        targets = [port for reference in node.targets for port in self._channels(reference)]
        if node.repeated and sources:
            if len(targets) % len(sources):
                warn(
                    node,
                    f"{len(sources)} sources do not divide {len(targets)} targets; the last repetition is cut short",
                )
            sources = [sources[k % len(sources)] for k in range(len(targets))]
        if len(sources) != len(targets):
            wide = f"{len(sources)} sources and {len(targets)} targets"
            warn(node, f"connection has {wide}; what is left over is not connected")
        delay = self._duration(node.delay) if node.delay else None
        convert = self._converter(node)
        for reference in node.sources:
            self._check_side(reference, reads=True, what="start a connection")
        for reference in node.targets:
            self._check_side(reference, reads=False, what="end a connection")
        for source, target_ in zip(sources, targets):
            if other := self._connected(target_, mode, node):
                raise at(
                    node, f"{target_.path} is connected already, in line {other.line}: give it an input of its own"
                )
            self.fed.setdefault(target_, []).append((mode, node))
            connection = e.Connection(source, target_, delay, node.physical, mode, node.site, convert)
            connection.wait = self._attribute(node, "absent_after", 0)
            self.instance.connections.append(connection)

    def _connected(self, port, mode, node=None):
        """Another connection that ends at a port and can be active when this mode is."""
        found = self.fed.get(port, ())
        return next((c for other, c in found if c is not node and (other is mode or None in (other, mode))), None)

    def _converter(self, node):
        """The function that copies a value for another federate."""
        if node.serializer:
            module = self.builder.scope.get(node.serializer)
            if module is None or not hasattr(module, "Serializer"):
                raise at(
                    node,
                    f"serializer {node.serializer!r} is not a module with a class Serializer that a preamble imports",
                )
            serializer = module.Serializer()
            return lambda value: serializer.deserialize(serializer.serialize(value))
        return copy.deepcopy if self.federated else None

    # ---- reactions

    def _argument(self, reference):
        """(name, what a reaction finds under it) of a port, action or contained reactor."""
        if reference.container is not None:
            self._channels(reference)  # refuses what is not there
            return reference.container, self.contained[reference.container, "shown"]
        instance = self.instance
        for kind in (instance.ports, instance.actions, instance.watchdogs):
            if reference.name in kind:
                return reference.name, kind[reference.name]
        if reference.name in instance.timers:
            return None, None
        raise at(reference, f"{reference.name} is not a port, action, timer, mode or watchdog of this reactor")

    def _check_side(self, reference, reads, what):
        """Refuses ports that this reactor may not read, or write."""
        for port in self._channels(reference)[:1]:
            own = reference.container is None
            if port.is_input != (own == reads):
                kind = "input" if port.is_input else "output"
                whose = "this reactor" if own else "a contained reactor"
                raise at(reference, f"{reference.name} is an {kind} of {whose}: it cannot {what}")

    def _elements(self, reference):
        instance = self.instance
        if reference.container is None:
            for kind in (instance.actions, instance.timers, instance.watchdogs):
                if reference.name in kind:
                    return [kind[reference.name]]
        return self._channels(reference)

    def _effects(self, nodes):
        """(elements, {name: argument}) of a list of effects."""
        effects, arguments = [], {}
        for effect in nodes:
            is_mode = isinstance(effect, s.Transition) or (
                effect.container is None and effect.name in self.instance.modes
            )
            if is_mode:
                if effect.name not in self.instance.modes:
                    raise at(effect, f"there is no mode {effect.name} in this reactor")
                history = isinstance(effect, s.Transition) and effect.history
                transition = e.Transition(self.instance.modes[effect.name], history)
                effects.append(transition)
                arguments[effect.name] = transition
            else:
                name, argument = self._argument(effect)
                if name is None:
                    raise at(
                        effect, f"{effect.name} is a timer: a reaction cannot set it, so take it out of the effects"
                    )
                elements = self._elements(effect)
                if elements and isinstance(elements[0], e.Port):
                    self._check_side(effect, reads=False, what="be set by a reaction")
                effects.extend(elements)
                arguments[name] = argument
        return effects, arguments

    def _inputs(self, node):
        """The triggers of a reaction that names none: each input of the reactor."""
        of = {"file": node.file, "line": node.line, "column": node.column}
        inputs = [name for name, port in self.instance.ports.items() if any(p.is_input for p in e.channels(port))]
        return [s.Reference(None, name, **of) for name in inputs]

    def _reaction(self, reactor, node, mode):
        triggers, sources, arguments, mutable = [], [], {}, []
        for found, references in ((triggers, node.triggers or self._inputs(node)), (sources, node.sources)):
            for reference in references:
                if not isinstance(reference, s.Reference):
                    found.append(str(reference))
                    continue
                name, argument = self._argument(reference)
                if name is not None:
                    arguments[name] = argument
                elements = self._elements(reference)
                own_source = found is sources and reference.container is None  # may be an output, too
                if elements and isinstance(elements[0], e.Port) and not own_source:
                    self._check_side(reference, reads=True, what="be read by a reaction")
                mutable.extend(port for port in elements if isinstance(port, e.Port) and port.mutable)
                found.extend(elements)
        effects, more = self._effects(node.effects)
        for port in effects:
            if isinstance(port, e.Port) and (other := self._connected(port, mode)):
                raise at(node, f"{port.path} is connected, in line {other.line}, so a reaction cannot set it, too")
        arguments |= {name: argument for name, argument in more.items() if name not in arguments}
        number = len(self.instance.reactions) + 1
        name = node.name or f"reaction_{number}"
        parameters = ["self", *arguments]

        def compiled(block, what):
            read_only = self.self_.__parameters__
            return code.function(node, block, f"{what}_{number}", parameters, self.self_.__scope__, read_only)

        reaction = e.Reaction(self.instance, name, compiled(node.code, "reaction"), triggers, sources, effects)
        reaction.arguments, reaction.mutable = tuple(arguments.values()), tuple(mutable)
        reaction.mode, reaction.site = mode, node.site
        if node.late:
            reaction.tardy = reaction.function if node.late.code is None else compiled(node.late.code, "tardy")
            reaction.tardy_limit = self._duration(node.late.limit) if node.late.limit else 0
        if node.deadline:
            handler = compiled(node.deadline.code, "deadline")
            reaction.deadline = e.Handler(handler, self._duration(node.deadline.limit), node.deadline.site)
        self.instance.reactions.append(reaction)
