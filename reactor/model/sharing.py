"""Global variables that reactors share, and the variables that a reaction changes, itself or in the functions that it calls."""

from __future__ import annotations

import dis
from collections import Counter, deque
from enum import Enum
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reactor.model.elements import Instance, Reaction

_CONTAINERS = (list, dict, set, bytearray, deque)
_IMMUTABLE = (tuple, frozenset, str, bytes, int, float, complex, Enum)
_ELEMENT_STORES = {"STORE_SUBSCR", "STORE_SLICE", "DELETE_SUBSCR"}
_ATTRIBUTE_STORES = {"STORE_ATTR", "DELETE_ATTR"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
_BETWEEN = {"COPY", "DUP_TOP", "DUP_TOP_TWO", "PUSH_NULL"}  # stand between a variable and what is done with it
# Attributes that change nothing.
_READS = {
    "get",
    "items",
    "keys",
    "values",
    "index",
    "count",
    "copy",
    "most_common",
    "union",
    "intersection",
    "difference",
}


class Sharing:
    """The uses of global variables by the reactors of a program. A variable is (number of its namespace, its name)."""

    def __init__(self, reactions: list[Reaction]) -> None:
        self._found: dict[
            Instance, tuple[set[Any], set[Any]]
        ] = {}  # {reactor: (variables it uses, those that it changes)}
        self._codes: dict[CodeType, tuple[set[str], set[str], set[str]]] = {}
        done: dict[Any, tuple[set[Any], set[Any]]] = {}  # {(code, namespace): what it uses and changes}
        for reaction in reactions:
            used, changed = self._found.setdefault(reaction.instance, (set(), set()))
            for function in _functions(reaction):
                key = function.__code__, id(function.__globals__)
                if key not in done:
                    done[key] = self._follow(function)
                used |= done[key][0]
                changed |= done[key][1]

    def shared(self) -> set[Instance]:
        """The reactors that use a variable which one of them changes and another one uses.

        Names that are not defined yet count, because a reaction may define them; those that none does, such as attributes, do no harm."""
        users = Counter(variable for used, _ in self._found.values() for variable in used)
        changed = {variable for _, found in self._found.values() for variable in found if users[variable] > 1}
        return {instance for instance, (used, _) in self._found.items() if used & changed}

    def _follow(self, function: FunctionType) -> tuple[set[Any], set[Any]]:
        """(variables that a function uses, those that it changes), with what it calls."""
        used, changed, ahead, seen = set(), set(), [function], set()
        while ahead:
            function = ahead.pop()
            if function.__code__ in seen:
                continue
            seen.add(function.__code__)
            space = function.__globals__
            names, assigned, touched = self._of_code(function.__code__)
            for name in names | assigned:
                value = space.get(name)
                ahead.extend(_called(value, space))
                if name not in space or name in assigned or _is_mutable(value, space):
                    used.add((id(space), name))
                    if name in assigned or name in touched:
                        changed.add((id(space), name))
        return used, changed

    def _of_code(self, code: CodeType) -> tuple[set[str], set[str], set[str]]:
        """(names that code uses, global variables that it assigns, those whose value it may change)"""
        if code not in self._codes:
            names, assigned, touched = self._codes[code] = set(), set(), set()
            for one in _nested(code):
                names.update(one.co_names)
                for instruction, changes in _instructions(one):
                    if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                        assigned.add(instruction.argval)
                    elif instruction.opname == "LOAD_GLOBAL" and changes:
                        touched.add(instruction.argval)
        return self._codes[code]


def changed_attributes(instance: Instance) -> set[str]:
    """Names of attributes, of `self` and other objects, whose values the code of a reactor may change."""
    codes = {code for reaction in instance.reactions for f in _functions(reaction) for code in _nested(f.__code__)}
    return {
        instruction.argval
        for code in codes
        for instruction, changes in _instructions(code)
        if instruction.opname == "LOAD_ATTR" and changes
    }


def _instructions(code: CodeType) -> Iterator[tuple[dis.Instruction, bool]]:
    """(instruction, whether what follows may change the value that it loads)"""
    found = [instruction for instruction in dis.get_instructions(code) if instruction.opname not in _BETWEEN]
    stores = any(instruction.opname in _ELEMENT_STORES for instruction in found)
    for instruction, after in zip(found, [*found[1:], found[-1]]):
        attribute = after.opname in _ATTRIBUTES and after.argval not in _READS
        element = stores and after.opname not in _ATTRIBUTES
        yield instruction, attribute or element or after.opname in _ATTRIBUTE_STORES


def _functions(reaction: Reaction) -> Iterator[FunctionType]:
    """A reaction, its handlers, and the methods of its reactor."""
    handlers = [reaction.deadline.function] if reaction.deadline else []
    methods = vars(type(reaction.instance.object)).values()
    for function in (reaction.function, reaction.tardy, *handlers, *methods):
        if isinstance(function, FunctionType):
            yield function


def _called(value: object, space: dict[str, Any]) -> list[FunctionType]:
    """The functions of this namespace that code runs when it uses a global variable of this value."""
    found = (
        [value] if isinstance(value, FunctionType) else list(vars(value).values()) if isinstance(value, type) else []
    )
    return [one for one in found if isinstance(one, FunctionType) and one.__globals__ is space]


def _is_mutable(value: object, space: dict[str, Any]) -> bool:
    """Whether this is a container, or an object of a class of this namespace that may change."""
    if isinstance(value, _IMMUTABLE) or getattr(getattr(value, "__dataclass_params__", None), "frozen", False):
        return False
    return isinstance(value, _CONTAINERS) or type(value).__module__ == space.get("__name__")


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)
