"""Marks for how stable an interface is."""

from __future__ import annotations

import functools
import inspect
import warnings
from typing import Any

from rayshim.errors.sites import at, calling


class RayDeprecationWarning(DeprecationWarning):
    """Something deprecated was used."""


def PublicAPI(*args: Any, **kwargs: Any) -> Any:
    """Marks a public interface: `@PublicAPI` or `@PublicAPI(stability="alpha")`; "stable" (default), "beta" or "alpha"."""
    if len(args) == 1 and not kwargs and callable(args[0]):
        return PublicAPI(stability="stable")(args[0])
    stability = kwargs.get("stability", "stable")
    if stability not in ("stable", "beta", "alpha"):
        raise AssertionError(
            f"PublicAPI(stability={stability!r}): must be 'stable', 'beta' or 'alpha' (at {calling()})"
        )
    return _marker("PublicAPI")


def DeveloperAPI(*args: Any, **kwargs: Any) -> Any:
    """Marks an interface for developers of libraries; it may change."""
    return _marker("DeveloperAPI")(args[0]) if args and callable(args[0]) else _marker("DeveloperAPI")


def Deprecated(*args: Any, **kwargs: Any) -> Any:
    """Marks what is deprecated: `@Deprecated` or `@Deprecated(message="use g", warning=True)`; with `warning` its use warns."""
    if len(args) == 1 and not kwargs and callable(args[0]):
        return _marker("Deprecated")(args[0])
    if unknown := kwargs.keys() - {"message", "warning"}:
        raise ValueError(f"Unknown kwargs: {unknown} ({at('Deprecated')}: it takes message= and warning=)")
    return functools.partial(_deprecate, message=kwargs.get("message", ""), warn=kwargs.get("warning", False))


def _marker(kind):
    def mark(what):
        what._annotated = what.__name__
        what._annotated_type = kind
        return what

    return mark


def _deprecate(what, message, warn):
    _marker("Deprecated")(what)
    if not warn:
        return what
    function = what.__init__ if inspect.isclass(what) else what

    @functools.wraps(function)
    def warned(*args, **kwargs):
        warnings.warn(f"{what.__name__} is deprecated. {message}".strip(), RayDeprecationWarning, stacklevel=2)
        return function(*args, **kwargs)

    if not inspect.isclass(what):
        return warned
    what.__init__ = warned
    return what
