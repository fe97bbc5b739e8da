"""Actions of an actor that affect its whole process, so that it must not share the process: found in its class, and seen while it runs."""

import dis
import enum
import functools
import logging
import os
import random
import sys
import types
import weakref

from reactor import _core, codec
from reactor.code import closure, with_nested

from rayshim.errors import user_code

_EVENTS = {  # audit events of Python, and what the actor that raises one does
    "os.chroot": "changes the root directory",
    "resource.setrlimit": "sets limits of its process",
    "sqlite3.connect": "uses a connection of sqlite3, which belongs to one thread",
}
_SHAREABLE = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    int,
    float,
    complex,
    str,
    bytes,
    frozenset,
    range,
    type(None),
)
_watching = False


def watch(placement):
    """From now on, in this worker: posts what its actors do to the process, under ("alone", name of the class)."""
    global _watching
    if _watching:
        return
    _watching = True
    posted = set()

    def see(event):
        number = _core.running_actor()
        facts = placement.facts(number) if number else None
        if not facts or (facts["class_name"], event) in posted:
            return
        posted.add((facts["class_name"], event))
        placement.post(("alone", facts["class_name"]), _EVENTS[event])

    _core.watch_events(list(_EVENTS), see)


def why_not_shareable(cls):
    """Why actors of the class must not share a process, as far as its code shows; "" for no reason.

    The code is that of its methods, and of the functions and classes of the program that they use, in whatever module. A variable of a module is a
    reason if the code sets it, or if its value can be changed in place; so are default arguments and attributes of classes that can be changed in place.
    Classes and functions of the main script are copied for each actor, with their attributes and default arguments.
    """
    known = _known.get(id(cls))
    if known is None or known[0]() is not cls:
        known = _known[id(cls)] = weakref.ref(cls), _reason(cls)
    return known[1]


_known = {}  # id of a class -> (weak reference to it, what `why_not_shareable` gives): workers get a class as it is when it is used first, so it is read once


def _reason(cls):
    try:
        search = _Search()
        search.add_class(cls)
        return search.reason()
    except Exception as error:  # of what the program has made of its classes
        return f"has code that cannot be followed ({error!r})"


class _Search:
    """The code that is reached from a class.

    Attributes:
        attributes: {name: text} of attributes of classes that can be changed in place, and changed: the names of those that the code may change.
        settable: {name: class} of attributes of classes that the code has as values, and stored: the names of all attributes that the code sets.
    """

    def __init__(self):
        self._seen, self._todo = set(), []
        self.attributes, self.changed = {}, set()
        self.settable, self.stored = {}, set()

    def add_class(self, cls):
        if id(cls) in self._seen:
            return
        self._seen.add(id(cls))
        for base in cls.__mro__[1:]:
            self._follow(base)
        for name, value in vars(cls).items():
            functions = _functions_of(value)
            of_class = isinstance(value, classmethod) or name == "__new__"
            self._todo += [(function, of_class) for function in functions if not _is_generated(cls, function)]
            if isinstance(value, type):
                self._has_as_value(value)
            if functions or self._follow(value) or name.startswith("__") or _is_copied(cls) or _is_shareable(value):
                continue
            if not isinstance(value, (types.MemberDescriptorType, property)):
                text = f"the attribute {name} of the class {cls.__name__}, a {type(value).__name__}"
                self.attributes.setdefault(name, text)
        for field in vars(cls).get("__dataclass_fields__", {}).values():
            self._follow(field.default_factory)

    def reason(self):
        while self._todo:
            function, of_class = self._todo.pop()
            if id(function) in self._seen:
                continue
            self._seen.add(id(function))
            found = self._of_function(function, of_class)
            if found:
                return found
        for name in sorted(self.attributes.keys() & self.changed):
            return f"uses {self.attributes[name]}"
        for name in sorted(self.settable.keys() & self.stored):
            return f"sets the attribute {name} of the class {self.settable[name]}"
        return ""

    def _has_as_value(self, cls):
        """The code may set attributes of the class wherever it has it."""
        if _is_programs(cls) and not _is_copied(cls):
            names = {
                name for name, value in vars(cls).items() if not name.startswith("__") and not _functions_of(value)
            }
            self.settable.update(dict.fromkeys(names, cls.__name__))

    def _of_function(self, function, of_class):
        for name, value in closure(function).items():
            if not self._follow(value) and not _is_shareable(value):
                return f"uses the variable {name} of the function around it, a {type(value).__name__}"
        for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            if not self._follow(value) and not _is_shareable(value) and not _is_copied(function):
                return f"uses a default argument of {function.__name__}, a {type(value).__name__}"
        for code in with_nested(function.__code__):
            found = self._of_code(code, function, of_class)
            if found:
                return found
        return ""

    def _of_code(self, code, function, of_class):
        variables, before, classes, stored = function.__globals__, None, [], set()
        steps = list(dis.get_instructions(code))
        for k, step in enumerate(steps):
            if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                return f"sets the variable {step.argval} of its module"
            if before is os and step.argval in ("_exit", "abort", "kill", "killpg"):
                return f"ends processes by os.{step.argval}"
            if step.opname == "STORE_ATTR":
                stored.add(step.argval)
                self.stored.add(step.argval)
            elif step.opname in _LOADS_ATTRIBUTE and not _is_read(steps, k):
                self.changed.add(step.argval)
            before = None
            if step.opname not in ("LOAD_GLOBAL", "LOAD_NAME"):
                continue
            value = before = variables.get(step.argval)
            if isinstance(value, types.ModuleType) and value.__name__ == "signal":
                return "uses signals"
            where, at = "its module", k
            if isinstance(value, types.ModuleType) and _is_programs(value) and steps[k + 1].opname in _LOADS_ATTRIBUTE:
                where, at = f"the module {value.__name__}", k + 1
                value = vars(value).get(steps[at].argval)
            if isinstance(value, type) and _is_programs(value):
                classes.append(value)
                if _is_value(steps, at, code.co_names):
                    self._has_as_value(value)
            if not self._follow(value) and not _is_shareable(value):
                return f"uses the variable {steps[at].argval} of {where}, a {type(value).__name__}"
        for owner in classes:  # `self.x = ...` of a class that has a default for x looks alike, and is refused, too
            for name in sorted(stored & vars(owner).keys()):
                return f"sets the attribute {name} of the class {owner.__name__}"
        if stored and not _is_copied(function) and (of_class or not {"type", "__class__"}.isdisjoint(code.co_names)):
            return f"sets attributes of a class in {function.__name__}"
        return ""

    def _follow(self, value):
        """Adds a function or a class of the program. Returns whether it is one."""
        if isinstance(value, type):
            if not _is_programs(value):
                return False
            self.add_class(value)
            return True
        functions = [function for function in _functions_of(value) if _is_programs(function)]
        self._todo += [(function, False) for function in functions]
        return bool(functions)


_LOADS_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")
_READS = {"copy", "count", "get", "index", "items", "keys", "values"}  # methods of containers


def _is_read(steps, k):
    """Whether the attribute that is loaded in step k is surely a container that is only read, if it is one."""
    after = steps[k + 1]
    if after.opname in _LOADS_ATTRIBUTE:
        return after.argval in _READS
    if after.opname in ("GET_ITER", "CONTAINS_OP"):
        return True
    for step in steps[k + 1 : k + 6]:
        if step.opname.startswith(("STORE_", "DELETE_", "CALL", "PRECALL", "RETURN", "POP_")):
            return False
        if step.opname.startswith("BINARY_SUBSCR") or (step.opname == "BINARY_OP" and step.argrepr == "[]"):
            return True
    return False


def _is_value(steps, k, names):
    """Whether the class that is loaded in step k is neither called, nor asked for an attribute, nor only compared with."""
    load, after = steps[k], steps[k + 1]
    if "NULL" in load.argrepr or load.opname == "LOAD_METHOD" or sys.version_info < (3, 11):
        return False  # it is called; before Python 3.11 that does not show
    if after.opname in (*_LOADS_ATTRIBUTE, "CHECK_EXC_MATCH", "PUSH_NULL"):
        return False
    return not (
        after.opname in ("PRECALL", "CALL", "BUILD_TUPLE") and not {"isinstance", "issubclass"}.isdisjoint(names)
    )


def _functions_of(value):
    """The functions of a function, method or property, with those that a decorator has wrapped."""
    if isinstance(value, property):
        candidates = [value.fget, value.fset, value.fdel]
    elif isinstance(value, (staticmethod, classmethod)) or (
        isinstance(value, types.MethodType) and isinstance(value.__self__, type)
    ):
        candidates = [value.__func__]
    elif isinstance(value, (functools.cached_property, functools.partial, functools.partialmethod)):
        candidates = [value.func]
    else:
        candidates = [value]
    found = []
    for candidate in candidates:
        for _ in range(100):  # a wrapper may name itself
            if not isinstance(candidate, types.FunctionType):
                break
            found.append(candidate)
            candidate = candidate.__dict__.get("__wrapped__")
    return found


def _is_generated(owner, function):
    """Whether the function was made by `dataclass` or the like, and is not in a file."""
    makers = {"__dataclass_fields__", "__attrs_attrs__", "_fields"}
    return not makers.isdisjoint(vars(owner)) and function.__code__.co_filename.startswith("<")


def _is_programs(value):
    """Whether a class, a function or a module is the program's own: neither Python's nor an installed package's nor the runtime's."""
    name = value.__name__ if isinstance(value, types.ModuleType) else codec.module_of(value)
    module = sys.modules.get(name)
    if name == "__main__" or module is None:
        return True
    path = getattr(module, "__file__", None)
    return path is not None and user_code.is_programs(path)


def _is_copied(value):
    """Whether each actor of a process has its own copy: a class or function of the main script travels by value."""
    return codec.module_of(value) == "__main__"


_generator_of_random = random.random.__self__  # pyright: ignore[reportFunctionMemberAccess]


def _generator_of_numpy():
    return getattr(sys.modules.get("numpy.random.mtrand"), "_rand", None)


def _is_shareable(value):
    """Whether it makes no difference who else has the value: it cannot be changed in place, or only by way of its own variables."""
    if isinstance(value, tuple):
        return all(map(_is_shareable, value))
    if isinstance(value, types.BuiltinFunctionType):
        of = value.__self__
        exchanged = of is _generator_of_random or of is _generator_of_numpy()  # such as that of random.random
        return of is None or isinstance(of, (types.ModuleType, type)) or exchanged
    if isinstance(value, _SHAREABLE) or type(value).__module__ in ("typing", "numpy.dtypes"):
        return True
    if isinstance(value, (enum.Enum, logging.Logger)):
        return True
    package = codec.module_of(type(value)).partition(".")[0]
    return package in ("rayshim", "reactor")  # refs, handles, actor classes and remote functions
