"""From the syntax of a program to its reactors."""

import copy
import os
import sys
from collections import defaultdict
from functools import partial
from types import FunctionType, ModuleType
from typing import Any

from reactor.lf import code, spaces, target
from reactor.lf import syntax as s
from reactor.lf.checking import check_names, is_main
from reactor.lf.errors import LFError, at, warn
from reactor.lf.files import Files
from reactor.lf.gathering import folder_of, supporting_files
from reactor.lf.launching import launchers
from reactor.lf.names import Channel, LFReactor, Names, namespace
from reactor.model import elements as e
from reactor.model import time as times
from reactor.model.time import FOREVER, NEVER
from reactor.schedule.sharing import changed_attributes


def load(path, folder=None):
    """(the topmost Instance of a program, {settings that it asks for}).

    Arguments:
        folder: where its supporting files lie, if that is known; else they are gathered.

    Raises:
        LFError: it cannot be run, with file, line and column.
    """
    files = Files(path)
    settings = target.settings(files.main)
    mains = [reactor for reactor in files.main.reactors if is_main(reactor)]
    if not mains:
        raise LFError(
            "this file has no main reactor and no federated reactor, so there is nothing to run", files.main.path
        )
    paths = [path for file in files.order for path in supporting_files(file)]
    if paths and folder is None:
        folder = folder_of(paths, files.main.path)
    settings["source"] = files.main.path, folder
    builder = _Builder(files)
    builder.run_preambles(folder)
    top = builder.instance(mains[0], mains[0].name or builder.module.__name__, None, None, {"bank_index": 0}, mains[0])
    builder.mark_sharers(top)
    if any(child.federate and child.federate.transient for child in top.children):
        settings["during"] = partial(launchers, files.main.path)
    return top, settings


_COLLECTIONS = {
    "list": list,
    "tuple": tuple,
    "set": lambda items: set(items) if items else {},
}  # {} is a dict, as in Python
_UNCHANGING = (int, float, complex, str, bytes, tuple, frozenset, type, FunctionType, ModuleType, type(None))


class _Class:
    """A reactor class with what it inherits: its members in order and its Python class."""

    def __init__(self, builder, declared, scope):
        self.declared, self.parameters, self.members = declared, {}, []
        attributes, seen = {}, []
        self._collect(builder, declared, seen)
        for reactor in seen:
            self.parameters.update((parameter.name, parameter) for parameter in reactor.parameters)
            self.members.extend((reactor, member) for member in reactor.members)
        check_names(self.parameters.values(), self.members)
        kept = frozenset(self.parameters)
        for _, member in self.members:
            if isinstance(member, s.Preamble):
                code.block(member, member.code, scope, attributes)
            elif isinstance(member, s.Method):
                arguments = ["self", *member.arguments]
                attributes[member.name] = code.function(member, member.code, member.name, arguments, scope, kept)
        attributes.update(__lf__=builder.lf, __parameters__=kept)
        self.python = type(declared.name or "main", (LFReactor,), attributes)

    def _collect(self, builder, declared, seen, within=()):
        if any(reactor is declared for reactor in within):
            raise at(
                declared, f"reactor {declared.name} extends itself, directly or through others: take one `extends` out"
            )
        for base in declared.bases:
            self._collect(builder, builder.files.reactor(declared.file, base, declared), seen, (*within, declared))
        if all(reactor is not declared for reactor in seen):
            seen.append(declared)


class _Builder:
    def __init__(self, files):
        self.files = files
        self.module, self.lf = namespace(files.main)
        self.decentralised = files.main.properties.get("coordination") == "decentralized"
        self.scope = self.module.__dict__
        self._classes, self._scopes = {}, {None: self.scope}
        self._declared, self._shareable = (
            {},
            [],
        )  # {Instance: its Reactor}, values of state that was asked for before the start

    def run_preambles(self, folder):
        known = sys.modules.get(self.module.__name__)
        if known is None or isinstance(getattr(known, "lf", None), Names):  # that of an earlier program of this name
            sys.modules[self.module.__name__] = self.module
        sys.modules[f"LinguaFranca{self.module.__name__}"] = self.lf  # the name that `lfc` gives it
        if folder:
            sys.path.append(folder)
            self.module.__file__ = os.path.join(folder, f"{self.module.__name__}.py")
        for file in self.files.order:
            for preamble in file.preambles:
                code.block(preamble, preamble.code, self.scope, self.scope)

    def _class_of(self, declared, scope):
        key = id(declared), id(scope)
        if key not in self._classes:
            self._classes[key] = _Class(self, declared, scope)
        return self._classes[key]

    def _scope_of(self, federate):
        if federate not in self._scopes:
            self._scopes[federate] = spaces.of_federate(self.scope)
        return self._scopes[federate]

    def instance(self, declared, name, parent, mode, given, node, federate=None):
        """A reactor with everything in it. `given` are the values of its parameters."""
        self._refuse_cycle(declared, parent, node)
        federate_ = federate or (parent and parent.federate)
        scope = self._scope_of(federate_)
        cls = self._class_of(declared, scope)
        self_ = cls.python()
        instance = e.Instance(name, parent, self_, mode, declared.name or "", node.site)
        instance.federate = federate_
        self._declared[instance] = declared
        vars(self_).update(__path__=instance.path, __scope__=scope, __unmade__={}, bank_index=given["bank_index"])
        unknown = [key for key in given if key not in cls.parameters and key != "bank_index"]
        if unknown:
            known = ", ".join(cls.parameters) or "none"
            raise at(node, f"reactor {declared.name} has no parameter {unknown[0]}; there are {known}")
        for parameter in cls.parameters.values():
            known = parameter.name in given
            vars(self_)[parameter.name] = given[parameter.name] if known else self.value(parameter.initial, self_)
        if federate:
            federate.instance = instance
            self._set_wait(federate, cls.parameters, self_)
        filler = _Filler(self, instance, self_)
        filler.fill(cls.members)
        self._give_state(instance, self_, filler.states)
        return instance

    def _refuse_cycle(self, declared, parent, node):
        while parent:
            if self._declared[parent] is declared:
                raise at(
                    node,
                    f"reactor {declared.name} contains itself, directly or through others, so this would never end",
                )
            parent = parent.parent

    def _set_wait(self, federate, parameters, self_):
        """A parameter of the name STA or STP_offset says what @maxwait says."""
        for name in parameters:
            if federate.maxwait is not None and name.lower() in ("sta", "stp_offset"):
                federate.maxwait = vars(self_)[name]

    def _give_state(self, instance, self_, states):
        names = vars(self_)

        def make_state(loop):
            self.lf.loop = loop
            unmade = names.pop(
                "__unmade__", None
            )  # the others were made before: an argument of a contained reactor has them
            for _, state in states:
                if unmade is None or state.name in unmade:
                    names[state.name] = self.value(state.initial, self_)

        def reset_state(within):
            for lies_in, state in states:
                if state.reset and lies_in is within:
                    names[state.name] = self.value(state.initial, self_)

        instance.make_state, instance.reset_state = make_state, reset_state

    def state_before(self, state, self_):
        """The value of a state variable that is asked for before the program starts."""
        value = self.value(state.initial, self_)
        if not isinstance(value, _UNCHANGING):
            self._shareable.append(value)
        return value

    def mark_sharers(self, top):
        """Notes which reactors must have the same object: they have the state of another one in a parameter, or an object that
        is in parameters of several reactors, of which one may change it."""
        shared = {id(value) for value in self._shareable}
        holders = defaultdict(list)  # {id of a value: [(its reactor, the parameter)]}
        changed = {}  # {class: names of the attributes whose values it may change}
        for instance in top.walk():
            for name in instance.object.__parameters__:
                value = vars(instance.object)[name]
                if not isinstance(value, _UNCHANGING):
                    holders[id(value)].append((instance, name))
        for value, held in holders.items():
            for instance, name in held if len(held) > 1 else ():
                cls = type(instance.object)
                if cls not in changed:
                    changed[cls] = changed_attributes(instance)
                if name in changed[cls]:
                    shared.add(value)
        for instance in top.walk() if shared else ():
            instance.shares = any(id(value) in shared for value in vars(instance.object).values())

    def value(self, expression, self_, names=None):
        """The value of an expression in a reactor whose parameters are attributes of `self_`."""
        if expression is None:
            return None
        if expression.kind in ("value", "time"):
            return expression.value
        if expression.kind in _COLLECTIONS:
            items = [self.value(item, self_, names) for item in expression.value]
            try:
                return _COLLECTIONS[expression.kind](items)
            except TypeError as error:
                raise at(expression, f"{error}: a set in braces can have numbers, text and tuples") from None
        if expression.kind == "code":
            return code.value(
                expression,
                expression.value,
                self_.__scope__,
                {"self": self_, "bank_index": self_.bank_index, **(names or {})},
            )
        if expression.value == "None":
            return None
        if expression.value not in vars(self_) and expression.value in self_.__parameters__:
            raise at(
                expression, f"{expression.value} has no value yet: a default can only use parameters declared before it"
            )
        if expression.value not in {*self_.__parameters__, "bank_index"}:
            known = ", ".join(sorted(self_.__parameters__)) or "none"
            raise at(expression, f"{expression.value} is not a parameter of this reactor; there are {known}")
        return vars(self_)[expression.value]


class _Filler:
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
        scope, kept = self.self_.__scope__, self.self_.__parameters__
        handler = code.function(node, node.code, f"watchdog_{node.name}", ["self", *names], scope, kept)
        timeout = self._duration(node.timeout)
        watchdog = e.Watchdog(self.instance, node.name, timeout, handler, values, mode, node.site)
        self.instance.watchdogs[node.name] = watchdog

    def _state(self, reactor, node, mode):
        self.states.append((mode, node))
        self.self_.__unmade__[node.name] = partial(self.builder.state_before, node, self.self_)

    def _instantiation(self, reactor, node, mode):
        declared = self.builder.files.reactor(reactor.file, node.reactor, node)
        width = self._width(node.width)
        made = []
        for bank_index in range(1 if width is None else width):
            names = {"bank_index": bank_index}  # 0 for a reactor that is in no bank
            given = {name: self.builder.value(value, self.self_, names) for name, value in node.arguments.items()}
            name = node.name if width is None else f"{node.name}[{bank_index}]"
            federate = self._federate(node) if self.federated else None
            if federate:
                given = spaces.copies(given, self.builder.scope)
            child = self.builder.instance(declared, name, self.instance, mode, {**names, **given}, node, federate)
            self.instance.children.append(child)
            made.append(child)
        self.contained[node.name] = made
        shown = [e.Contained(child.ports) for child in made]
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
                    node, f"serializer {node.serializer!r} is no module with a class Serializer that a preamble imports"
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
        raise at(reference, f"{reference.name} is no port, action, timer, mode or watchdog of this reactor")

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
        """What triggers a reaction that names no trigger: each input of the reactor."""
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

        def made(block, what):
            kept = self.self_.__parameters__
            return code.function(node, block, f"{what}_{number}", parameters, self.self_.__scope__, kept)

        reaction = e.Reaction(self.instance, name, made(node.code, "reaction"), triggers, sources, effects)
        reaction.arguments, reaction.mutable = tuple(arguments.values()), tuple(mutable)
        reaction.mode, reaction.site = mode, node.site
        if node.late:
            reaction.tardy = reaction.function if node.late.code is None else made(node.late.code, "tardy")
            reaction.tardy_limit = self._duration(node.late.limit) if node.late.limit else 0
        if node.deadline:
            handler = made(node.deadline.code, "deadline")
            reaction.deadline = e.Handler(handler, self._duration(node.deadline.limit), node.deadline.site)
        self.instance.reactions.append(reaction)
