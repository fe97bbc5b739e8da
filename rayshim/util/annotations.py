"""Decorators that mark the stability of an interface."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from enum import Enum
from typing import Any, Literal, TypeVar, overload

from rayshim.errors import deprecation
from rayshim.errors.deprecation import RayDeprecationWarning
from rayshim.errors.sites import at, calling

F = TypeVar("F", bound=Callable[..., Any])


class AnnotationType(Enum):
    """The marks of an interface, by which Ray says how stable it is."""

    PUBLIC_API = "PublicAPI"
    DEVELOPER_API = "DeveloperAPI"
    DEPRECATED = "Deprecated"
    UNKNOWN = "Unknown"


@overload
def PublicAPI(obj: F, /) -> F: ...
@overload
def PublicAPI(
    *, stability: Literal["stable", "beta", "alpha"] = "stable", api_group: str = "Others"
) -> Callable[[F], F]: ...
def PublicAPI(*args: Any, **kwargs: Any) -> Any:
    """Marks a public interface: `@PublicAPI` or `@PublicAPI(stability="alpha")`; "stable" (default), "beta" or "alpha"."""
    if len(args) == 1 and not kwargs and callable(args[0]):
        return PublicAPI(stability="stable")(args[0])
    stability = kwargs.get("stability", "stable")
    if stability not in ("stable", "beta", "alpha"):
        raise AssertionError(
            f"PublicAPI(stability={stability!r}): must be 'stable', 'beta' or 'alpha' (at {calling()})"
        )
    return _marker(AnnotationType.PUBLIC_API)


@overload
def DeveloperAPI(obj: F, /) -> F: ...
@overload
def DeveloperAPI() -> Callable[[F], F]: ...
def DeveloperAPI(*args: Any, **kwargs: Any) -> Any:
    """Marks an interface for developers of libraries; it may change."""
    return (
        _marker(AnnotationType.DEVELOPER_API)(args[0])
        if args and callable(args[0])
        else _marker(AnnotationType.DEVELOPER_API)
    )


@overload
def Deprecated(obj: F, /) -> F: ...
@overload
def Deprecated(*, message: str = ..., warning: bool = False) -> Callable[[F], F]: ...
def Deprecated(*args: Any, **kwargs: Any) -> Any:
    """Marks a deprecated function or class: `@Deprecated` or `@Deprecated(message="use g", warning=True)`; with `warning=True` its use warns."""
    if len(args) == 1 and not kwargs and callable(args[0]):
        return _marker(AnnotationType.DEPRECATED)(args[0])
    if unknown := kwargs.keys() - {"message", "warning"}:
        raise ValueError(f"Unknown kwargs: {unknown} ({at('Deprecated')}: it takes message= and warning=)")
    return functools.partial(_deprecate, message=kwargs.get("message", ""), warn=kwargs.get("warning", False))


def _marker(kind):
    def mark(what):
        _mark_annotated(what, kind)
        return what

    return mark


def _mark_annotated(obj, type=AnnotationType.UNKNOWN, api_group="Others"):
    if hasattr(obj, "__name__"):
        obj._annotated = obj.__name__
        obj._annotated_type = type
        obj._annotated_api_group = api_group


def _is_annotated(obj):
    """Whether `obj` itself is marked, not what it inherits from."""
    return hasattr(obj, "_annotated") and obj._annotated == obj.__name__


def _get_annotation_type(obj):
    """The name of the mark of `obj`, or None."""
    return obj._annotated_type.value if _is_annotated(obj) else None


def _deprecate(what, message, warn):
    _marker(AnnotationType.DEPRECATED)(what)
    if not warn:
        return what
    function = what.__init__ if inspect.isclass(what) else what

    @functools.wraps(function)
    def warned(*args, **kwargs):
        warnings.warn(deprecation.text(message), RayDeprecationWarning, stacklevel=2)
        return function(*args, **kwargs)

    if not inspect.isclass(what):
        return warned
    what.__init__ = warned
    return what
