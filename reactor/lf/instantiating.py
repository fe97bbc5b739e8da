"""Makes the reactors of a program from its syntax."""

import os
import sys
from collections import defaultdict
from functools import partial
from types import FunctionType, ModuleType

from reactor.lf import code, spaces, target
from reactor.lf import syntax as s
from reactor.lf.checking import check_names, is_main
from reactor.lf.errors import LFError, at
from reactor.lf.files import Files
from reactor.lf.gathering import folder_of, supporting_files
from reactor.lf.launching import launchers
from reactor.lf.members import Filler
from reactor.lf.names import LFReactor, Names, namespace
from reactor.model import elements as e
from reactor.model.sharing import changed_attributes


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


def _underlying(name):
    """The attribute that `lfc` keeps a parameter in, `self._NAME`: `self.NAME` only reads it."""
    return property(lambda self: vars(self)[name], lambda self, value: vars(self).update({name: value}))


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
        read_only = frozenset(self.parameters)
        for _, member in self.members:
            if isinstance(member, s.Preamble):
                code.block(member, member.code, scope, attributes)
            elif isinstance(member, s.Method):
                arguments = ["self", *member.arguments]
                attributes[member.name] = code.function(member, member.code, member.name, arguments, scope, read_only)
        named = {getattr(member, "name", None) for _, member in self.members}
        for name in {*read_only, "bank_index"}:
            if f"_{name}" not in named | attributes.keys():
                attributes[f"_{name}"] = _underlying(name)
        attributes.update(__lf__=builder.lf, __parameters__=read_only)
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
        vars(self_).update(__path__=instance.path, __scope__=scope, __initializers__={}, bank_index=given["bank_index"])
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
        filler = Filler(self, instance, self_)
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
                "__initializers__", None
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
                if {name, f"_{name}"} & changed[cls]:
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
