"""The namespaces of a program's code. Each federate has its own, because each federate is a separate program in Lingua Franca."""

import copy
from collections import deque
from contextlib import suppress
from types import FunctionType

_CONTAINERS = (list, dict, set, bytearray, deque)


def of_federate(scope):
    """A namespace with what the preambles defined in `scope`: functions that use this namespace, and copies of containers and of objects
    of the program's classes. Classes are the same in all, so that an object that was sent is of the class that its receiver knows."""
    namespace = dict(scope)
    namespace.update(copies({key: value for key, value in scope.items() if not key.startswith("__")}, scope))
    for key, value in scope.items():
        if isinstance(value, FunctionType) and value.__globals__ is scope:
            namespace[key] = _function(value, namespace)
    return namespace


def copies(values, scope):
    """The dict `values` with copies of the containers and of the objects of the program's classes in it."""
    copied, memo = dict(values), {}
    for key, value in values.items():
        if isinstance(value, _CONTAINERS) or type(value).__module__ == scope["__name__"]:
            with suppress(Exception):  # a lock or a socket, say, can only be shared
                copied[key] = copy.deepcopy(value, memo)
    return copied


def _function(function, scope):
    new = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    new.__kwdefaults__, new.__doc__, new.__module__ = function.__kwdefaults__, function.__doc__, function.__module__
    vars(new).update(vars(function))
    return new
