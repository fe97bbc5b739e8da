"""The error that is both a RayTaskError and the user's own exception class."""

from __future__ import annotations

from types import GetSetDescriptorType, MemberDescriptorType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rayshim.errors.task_error import RayTaskError


def dual(task_error: RayTaskError, base: type[RayTaskError]) -> Any:
    """An exception that is an instance of `base` (RayTaskError) and of the class of `task_error.cause`.

    It has the attributes and methods of the cause, the text of the task error, and `args == (cause,)`. If the class of the cause refuses
    to be subclassed, or has an attribute `cause` that cannot be set, its exception is raised.
    """
    cause = task_error.cause
    error = _new(_dual_class(type(cause), base), cause)
    error.__dict__.update(_ray_task_error=task_error, _ray_task_error_args=(cause,))  # pyright: ignore[reportAttributeAccessIssue]
    error.cause = cause  # pyright: ignore[reportAttributeAccessIssue]
    _copy_slots(cause, error)
    return error


def _dual_class(cause_class, base):
    # The class's own weak list of subclasses is the cache: nothing to clean up when a class goes.
    for known in type.__subclasses__(cause_class):
        if known.__dict__.get("_dual_of") is cause_class:
            return known
    name = f"RayTaskError({cause_class.__name__})"
    both = type(cause_class)(name, (base, cause_class), {**_BODY, "__module__": base.__module__, "__qualname__": name})
    both._dual_of = cause_class  # only now: __init_subclass__ may have raised and left half a class behind
    return both


def _new(dual_class, cause):
    """An instance made by the built-in base's `__new__`, because the user's `__new__` and `__init__` may need arguments."""
    base = type(cause)
    while base.__module__ != "builtins":
        base = base.__base__
    if base.__name__ in ("ExceptionGroup", "BaseExceptionGroup"):
        return base.__new__(dual_class, cause.message, cause.exceptions)  # pyright: ignore[reportCallIssue]
    if base is MemoryError:  # its own __new__ serves itself only
        base = Exception
    return base.__new__(dual_class, cause)  # pyright: ignore[reportCallIssue]


def _copy_slots(cause, error):
    """Copies the attributes that are not in the cause's `__dict__`: OSError's errno, for example, or those of a class with `__slots__`."""
    for klass in type(cause).__mro__:
        for name, slot in vars(klass).items():
            if name.startswith("__") or name in ("args", "cause"):
                continue
            if isinstance(slot, (MemberDescriptorType, GetSetDescriptorType)):
                try:
                    slot.__set__(error, slot.__get__(cause))
                except (AttributeError, TypeError):
                    continue  # unset in the cause, or read-only and already right


def _init(self, *args, **kwargs):
    """Does nothing: `dual` sets all attributes, and the user's `__init__` ran where the cause was raised."""


def _get_args(self):
    return self._ray_task_error_args


def _set_args(self, value):
    self.__dict__["_ray_task_error_args"] = value


def _getattr(self, name):
    attributes = self.__dict__
    if "_ray_task_error" not in attributes:
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
    try:
        return getattr(attributes["_ray_task_error"].cause, name)
    except AttributeError:
        if name in attributes["_ray_task_error"].__dict__:
            return attributes["_ray_task_error"].__dict__[name]
        raise


def _str(self):
    return str(self._ray_task_error)


def _reduce(self, protocol=None):
    return _restore, (self._ray_task_error,)


def _restore(task_error):
    return task_error.as_instanceof_cause()


def _as_instanceof_cause(self):
    return self


_BODY = {
    "__init__": _init,
    "__getattr__": _getattr,
    "__str__": _str,
    "__reduce__": _reduce,
    "__reduce_ex__": _reduce,
    "args": property(_get_args, _set_args),
    "as_instanceof_cause": _as_instanceof_cause,
}
