"""Checks of the declarations in a file and its reactors, before anything is made of them."""

import os
from keyword import iskeyword

from reactor.lf import syntax as s
from reactor.lf.errors import at

_ELEMENTS = (s.Parameter, s.Port, s.Timer, s.Action, s.Watchdog, s.Instantiation, s.Mode)  # code finds them as names
_ATTRIBUTES = (s.Parameter, s.State, s.Method)  # code finds them as attributes of `self`
_NAMED = (*_ELEMENTS, s.State, s.Reactor)
KNOWN_ATTRIBUTES = frozenset(
    [
        "absent_after",
        "build_type",
        "clock_sync",
        "enclave",
        "fast",
        "icon",
        "keepalive",
        "label",
        "language",
        "layout",
        "logging",
        "maxwait",
        "platform",
        "property",
        "side",
        "sparse",
        "timeout",
        "transient",
    ]
)


def check_file(file):
    """Refuses what cannot stand in one file, and names and attributes that cannot be."""
    mains = [reactor for reactor in file.reactors if is_main(reactor)]
    for main in mains[1:]:
        raise at(main, f"this file has a main reactor already, in line {mains[0].line}: a file has one")
    stem = os.path.splitext(os.path.basename(file.path))[0]
    seen = {}
    for reactor in file.reactors:
        if is_main(reactor):
            if reactor.name not in (None, stem):
                raise at(
                    reactor,
                    f"the main reactor is named {reactor.name}: leave its name out, or name it {stem} as its file",
                )
        elif reactor.name is None:
            raise at(reactor, "a reactor that is not the main reactor needs a name")
        other = seen.setdefault(reactor.name, reactor)
        if other is not reactor:
            raise at(
                reactor, f"reactor {reactor.name} is declared already, in line {other.line}: give it a name of its own"
            )
        _check_twice(reactor.parameters, "parameter")
        _check_twice([m for m in members(reactor.members) if isinstance(m, s.Reaction) and m.name], "reaction")
        for node in (reactor, *reactor.parameters, *members(reactor.members)):
            _check_node(node)
            if "transient" in node.attributes and not (
                isinstance(node, s.Instantiation) and "federated" in reactor.kinds
            ):
                raise at(node, "@transient stands before a federate, that is, an instance in the federated reactor")


def _check_twice(nodes, what):
    seen = {}
    for node in nodes:
        if seen.setdefault(node.name, node) is not node:
            raise at(
                node,
                f"{what} {node.name} is declared already, in line {seen[node.name].line}: give it a name of its own",
            )


def is_main(reactor):
    return bool(reactor.kinds & {"main", "federated"})


def members(found):
    """Members of a reactor, those of its modes too."""
    for member in found:
        yield member
        if isinstance(member, s.Mode):
            yield from member.members


def _check_node(node):
    for name in node.attributes:
        if name not in KNOWN_ATTRIBUTES and not name.startswith("_"):
            raise at(node, f"there is no attribute @{name}; there are {', '.join(sorted(KNOWN_ATTRIBUTES))}")
    if isinstance(node, _NAMED) and node.name:
        if iskeyword(node.name):
            raise at(node, f"{node.name} is a word of Python, so nothing can have this name: choose another one")
        if node.name.startswith("__"):
            raise at(node, f"names that begin with __ are kept for the runtime: choose another one than {node.name}")
    if isinstance(node, s.Action) and node.physical is None:
        raise at(
            node, f"action {node.name} is neither logical nor physical: write `logical action` or `physical action`"
        )
    if isinstance(node, s.Parameter) and node.initial is None:
        raise at(node, f"parameter {node.name} has no default value: write {node.name} = ...")


def check_names(parameters, pairs):
    """Refuses two elements or two attributes of one name, and modes of which not exactly one is initial.

    Arguments:
        parameters: of a reactor class and of what it extends; one that is declared again replaces that of the base.
        pairs: (reactor that declares it, member), of these too.
    """
    found = [(owner, member) for owner, outer in pairs for member in members([outer])]
    for kinds in (_ELEMENTS, _ATTRIBUTES):
        seen = {}
        for owner, member in [*((None, parameter) for parameter in parameters), *found]:
            if not isinstance(member, kinds):
                continue
            other_owner, other = seen.setdefault(member.name, (owner, member))
            overrides = isinstance(member, s.Method) and isinstance(other, s.Method) and owner is not other_owner
            if other is not member and not overrides:
                where = f"in line {other.line}" + ("" if other.file is member.file else f" of {other.file.path}")
                raise at(member, f"{member.name} is declared already, {where}: give it a name of its own")
    modes = [member for _, member in found if isinstance(member, s.Mode)]
    if modes and sum(mode.initial for mode in modes) != 1:
        raise at(modes[0], "exactly one mode of a reactor is initial: write `initial mode` for that one")
