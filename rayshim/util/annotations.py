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
from rayshim.errors.user_code import at, calling

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
    note = f"**PublicAPI ({stability}):** This API is in {stability} and may change before becoming stable."
    note = None if stability == "stable" else note
    return _marker(AnnotationType.PUBLIC_API, note, api_group=kwargs.get("api_group", "Others"))


@overload
def DeveloperAPI(obj: F, /) -> F: ...
@overload
def DeveloperAPI() -> Callable[[F], F]: ...
def DeveloperAPI(*args: Any, **kwargs: Any) -> Any:
    """Marks an interface for developers of libraries; it may change."""
    mark = _marker(AnnotationType.DEVELOPER_API, "**DeveloperAPI:** This API may change across minor Ray releases.")
    return mark(args[0]) if len(args) == 1 and not kwargs and callable(args[0]) else mark


@overload
def Deprecated(obj: F, /) -> F: ...
@overload
def Deprecated(*, message: str = ..., warning: bool = False) -> Callable[[F], F]: ...
def Deprecated(*args: Any, **kwargs: Any) -> Any:
    """Marks a deprecated function or class: `@Deprecated` or `@Deprecated(message="use g", warning=True)`; with `warning=True` its use warns."""
    if len(args) == 1 and not kwargs and callable(args[0]):
        return Deprecated()(args[0])
    if unknown := {name: value for name, value in kwargs.items() if name not in ("message", "warning")}:
        raise ValueError(f"Unknown kwargs: {unknown.keys()} ({at('Deprecated')}: it takes message= and warning=)")
    return functools.partial(_deprecate, message=kwargs.get("message"), warn=kwargs.get("warning", False))


def _marker(kind, note=None, directive=None, api_group="Others"):
    def mark(what):
        if note is not None:
            _append_doc(what, message=note, directive=directive)
        _mark_annotated(what, kind, api_group)
        return what

    return mark


def _append_doc(what, *, message, directive=None):
    """Adds a note to the docstring, in its indentation."""
    doc = (what.__doc__ or "").rstrip()
    lines = [line for line in doc.splitlines() if line]
    indent = " " * (len(lines[1]) - len(lines[1].lstrip()) if len(lines) > 1 else 0)
    within = indent + "    "
    message = message.replace("\n", "\n" + within)
    body = f"{indent}{message}" if directive is None else f"{indent}.. {directive}::\n\n{within}{message}"
    what.__doc__ = f"{doc}\n\n{body}\n{indent}"


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


_DEPRECATED = "**DEPRECATED**: This API is deprecated and may be removed in future Ray releases."


def _deprecate(what, message, warn):
    note = _DEPRECATED if message is None else f"{_DEPRECATED}\n{message}"
    _marker(AnnotationType.DEPRECATED, note, "warning")(what)
    if not warn:
        return what
    function = what.__init__ if inspect.isclass(what) else what

    def warned(*args, **kwargs):
        warnings.warn(deprecation.text(message), RayDeprecationWarning, stacklevel=2)
        return function(*args, **kwargs)

    if inspect.isclass(what):
        what.__init__ = functools.wraps(function)(warned)
        return what
    return functools.wraps(function)(warned) if callable(function) else warned
