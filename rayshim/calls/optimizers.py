"""Whether the program's code makes optimizers of torch.

The first optimizer of a process makes torch import torch._dynamo, with some 800 modules, which takes most of a second of processor time. So the zygote
imports it once, before it forks the workers of actors and tasks whose code makes optimizers.
"""

import functools
import os
import sys
import types

_MOST = 2000  # functions and classes that are looked at


def imports(what):
    """The module that torch imports with the first optimizer, as `reactor.runtime.preloading.preload` takes it, if the function or class `what` makes
    optimizers; else ().

    They count as made where the code, or code of the program that it names, mentions torch.optim or one of its classes.
    """
    optim = sys.modules.get("torch.optim")
    if optim is None:
        return ()
    rest, seen = [what], set()
    while rest and len(seen) < _MOST:
        value = _unwrapped(rest.pop())
        if value is optim:
            return ("torch._dynamo",)
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, type):
            if issubclass(value, optim.Optimizer):
                return ("torch._dynamo",)
            rest += [member for cls in value.__mro__ for member in tuple(vars(cls).values())]
        elif isinstance(value, types.FunctionType) and not _is_installed(value.__code__.co_filename):
            names = set(_names(value.__code__))
            if any(name == "optim" or name.startswith("torch.optim") for name in names):
                return ("torch._dynamo",)
            rest += _used(value, names)
    return ()


def _unwrapped(value):
    while True:
        if isinstance(value, (functools.partial, functools.partialmethod)):
            value = value.func
        elif isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        elif isinstance(value, property):
            value = value.fget
        else:
            return value


def _used(function, names):
    """The values that a function's code names."""
    globals_ = function.__globals__
    used = [globals_[name] for name in names if name in globals_]
    used += [vars(module)[name] for module in used if _is_module(module) for name in names if name in vars(module)]
    used += [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    return [*used, *(function.__defaults__ or ()), getattr(function, "__wrapped__", None)]


def _names(code):
    """The names that code uses, with functions and classes inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _names(constant)


def _is_module(value):
    return isinstance(value, types.ModuleType) and not _is_installed(getattr(value, "__file__", None) or "")


def _is_filled(cell):
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


@functools.cache
def _is_installed(file):
    """Whether a file is of an installed package or of the standard library."""
    parts = file.split(os.sep)
    return (
        "site-packages" in parts or "dist-packages" in parts or file.startswith(os.path.dirname(os.__file__) + os.sep)
    )
