"""Actions of an actor that affect its whole process, so that it must not share the process: found in its class, and seen while it runs."""

import dis
import inspect
import os
import sys
import types

from reactor import _core, codec

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
    told = set()

    def see(event, _):
        if event not in _EVENTS:
            return
        number = _core.running_actor()
        facts = placement.facts(number) if number else None
        if not facts or (facts["class_name"], event) in told:
            return
        told.add((facts["class_name"], event))
        placement.post(("alone", facts["class_name"]), _EVENTS[event])

    sys.addaudithook(see)


def of_class(cls):
    """Why actors of the class must not share a process, as far as its code shows; "" for no reason.

    The code is that of its methods, and of the functions and classes of the same module that they use. A module's variable is a reason if the
    code sets it, or if its value can be changed in place.
    """
    seen, todo = set(), _functions(cls)
    while todo:
        function = todo.pop()
        if function.__code__ in seen:
            continue
        seen.add(function.__code__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            if not _is_shareable(_content(cell)):
                return f"uses the variable {name} of the function around it, a {type(_content(cell)).__name__}"
        for code in _with_nested(function.__code__):
            reason = _reason(code, function.__globals__, cls, todo)
            if reason:
                return reason
    return ""


def _functions(cls):
    found = []
    for owner in cls.__mro__:
        if codec.module_of(owner) != codec.module_of(cls):
            continue
        for value in vars(owner).values():
            value = inspect.unwrap(getattr(value, "__func__", getattr(value, "fget", value)))
            if inspect.isfunction(value):
                found.append(value)
    return found


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


def _with_nested(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _with_nested(constant)


def _reason(code, variables, cls, todo):
    """One code object: the reason, or "". Functions and classes of the same module that it uses are added to `todo`."""
    before, classes, stored = None, [], set()
    for step in dis.get_instructions(code):
        if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            return f"sets the variable {step.argval} of its module"
        if before is os and step.argval in ("_exit", "abort", "kill", "killpg"):
            return f"ends processes by os.{step.argval}"
        if step.opname == "STORE_ATTR":
            stored.add(step.argval)
        before = None
        if step.opname not in ("LOAD_GLOBAL", "LOAD_NAME"):
            continue
        value = before = variables.get(step.argval)
        if isinstance(value, types.ModuleType) and value.__name__ == "signal":
            return "uses signals"
        if inspect.isfunction(value) and value.__module__ == codec.module_of(cls):
            todo.append(value)
        elif isinstance(value, type) and codec.module_of(value) == codec.module_of(cls):
            classes.append(value)
            todo.extend(_functions(value))
        elif not _is_shareable(value):
            return f"uses the variable {step.argval} of its module, a {type(value).__name__}"
    for owner in classes:  # `self.x = ...` of a class that has a default for x looks alike, and is refused, too
        for name in sorted(stored & vars(owner).keys()):
            return f"sets the attribute {name} of the class {owner.__name__}"
    return ""


def _is_shareable(value):
    """Whether it makes no difference who else has the value: it cannot be changed in place, or only by way of its own variables."""
    if isinstance(value, tuple):
        return all(map(_is_shareable, value))
    if isinstance(value, _SHAREABLE) or type(value).__module__ in ("typing", "numpy.dtypes"):
        return True
    package = codec.module_of(type(value)).partition(".")[0]
    return package in ("rayshim", "reactor")  # refs, handles, actor classes and remote functions
