"""Methods that a program has set on a class of a module: the module in the worker does not have them."""

import sys
from types import FunctionType, new_class


def with_added_methods(cls):
    """The object that is exported for the class of an actor: the class or, if methods were set on it or its bases after the import, an object that is
    unpickled as a subclass with these methods.

    As on Ray: a method is found by its own module and name if it is there, and travels with the class otherwise.
    """
    added = {name: found for name, found in _members(cls) if not _is_at_home(found, name)}
    return _Extended(cls, added) if added else cls


class _Extended:
    def __init__(self, cls, methods):
        self.cls, self.methods = cls, methods

    def __reduce__(self):
        return _subclass, (self.cls, self.methods)


def _subclass(cls, methods):
    names = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    return new_class(cls.__name__, (cls,), {}, lambda body: body.update(names | methods))


def _members(cls):
    """(name, function) of the methods that come from classes of modules; classes of the script travel with all that they have."""
    seen = set()
    for base in cls.__mro__:
        if base.__module__ != "__main__" and _found(base.__module__, base.__qualname__) is base:
            for name, value in vars(base).items():
                if name not in seen and isinstance(value, FunctionType) and name != "__del__":
                    yield name, value
        seen.update(vars(base))


def _is_at_home(function, name):
    """Whether the function was written as a method of this name in a class of a module. A function under another name may be an alias in the
    class's body, or was set later."""
    names = function.__qualname__.split(".")
    return names[-1] == name and len(names) > 1 and _found(function.__module__, function.__qualname__) is function


def _found(module, qualname):
    found = sys.modules.get(module)
    for name in qualname.split("."):
        found = getattr(found, name, None)
    return found
