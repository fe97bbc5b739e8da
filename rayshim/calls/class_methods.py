"""Methods that are looked up on an actor class instead of on an actor's handle."""

from __future__ import annotations

import types
from typing import Any

from rayshim.errors.user_code import calling


class ClassMethod:
    """A method bound to the actor class, as Ray gives it: it can be called and pickled as any bound method. It has no `remote`, and says where one is."""

    __slots__ = ("_method", "_of")

    def __init__(self, method: types.MethodType, of: str) -> None:
        self._method, self._of = method, of

    @property
    def __class__(self) -> Any:
        return types.MethodType  # for isinstance, as inspect asks

    @property
    def __doc__(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._method.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._method(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in ("remote", "options", "bind") and not hasattr(self._method, name):
            method = self._method.__name__
            raise AttributeError(
                f"'function' object has no attribute '{name}' (at {calling()}: {self._of}.{method} belongs to the class, and only actors run methods. "
                f"Create an actor, and use its handle: `actor = {self._of}.remote()`, then `actor.{method}.{name}(...)`)"
            )
        return getattr(self._method, name)

    def __eq__(self, other: object) -> bool:
        return self._method == (object.__getattribute__(other, "_method") if type(other) is ClassMethod else other)

    def __hash__(self) -> int:
        return hash(self._method)

    def __repr__(self) -> str:
        return repr(self._method)

    def __reduce__(self) -> tuple[Any, ...]:
        return types.MethodType, (self._method.__func__, self._method.__self__)
