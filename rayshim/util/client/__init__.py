"""Ray Client, the connection of a driver outside of its cluster. On rayshim each driver is in its session, so there is no such connection. The
functions here say so.

Some editors write `from ray.util.client import ray` for `import ray`. A program with this line calls `init` of that object, which then has all of
Ray's functions until `shutdown`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NoReturn


class _ClientContext:
    """A connection that is never made. After its `init`, it has Ray's functions, for the session that it has started."""

    api: None = None
    client_worker: None = None
    _started: bool = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._started or name == "remote":
            return getattr(_functions(), name)
        if name in ("is_initialized", "_internal_kv_initialized"):
            return lambda: False
        raise Exception("Ray Client is not connected. Please connect by calling `ray.init`.")  # noqa: TRY002  Ray raises this class

    def init(self, *args: Any, **kwargs: Any) -> Any:
        """Ray's `init`. A second one before `shutdown` raises Exception, as on Ray."""
        if self._started:
            raise Exception("Trying to start two instances of ray via client")  # noqa: TRY002  Ray raises this class
        context = _functions().init(*args, **kwargs)
        self._started = True
        return context

    def shutdown(self) -> None:
        """Ends the session that `init` has started."""
        if self._started:
            self._started = False
            _functions().shutdown()

    def is_connected(self) -> bool:
        """Whether this driver is outside of its cluster: never."""
        return False

    def connect(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises RuntimeError: `init(address=)` attaches a driver."""
        raise RuntimeError(
            "Ray Client is not available on rayshim: call `ray.init(address=...)` instead of connecting Ray Client."
        )

    def disconnect(self) -> None:
        """Has nothing to end."""


_TOP = __name__.partition(".")[0]


def _functions() -> Any:
    return import_module(_TOP)


_default_context: _ClientContext = _ClientContext()


class RayAPIStub:
    """The object `ray.util.client.ray`: the state of Ray Client, and Ray's functions for a driver that is connected by it."""

    def __init__(self) -> None:
        self._context = _default_context

    def get_context(self) -> _ClientContext:
        """The connection of this driver, which is not connected."""
        return self._context

    def set_context(self, cxt: _ClientContext | None) -> _ClientContext:
        """Sets what `get_context` returns (None: a new one), and returns the one before."""
        before, self._context = self._context, _ClientContext() if cxt is None else cxt
        return before

    def is_default(self) -> bool:
        """Whether `set_context` has not been called."""
        return self._context is _default_context

    def is_connected(self) -> bool:
        """Whether this driver is outside of its cluster: never."""
        return self._context.is_connected()

    def connect(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises RuntimeError: `init(address=)` attaches a driver."""
        self._context.connect(*args, **kwargs)

    def disconnect(self) -> None:
        """Has nothing to end."""

    def __reduce__(self) -> tuple[Any, ...]:
        return import_module, (_TOP,)  # in a task that a program has defined with it, `ray` is the module

    def __getattr__(self, name: str) -> Any:
        if name == "_context":
            raise AttributeError(name)
        return getattr(self._context, name)


ray: RayAPIStub = RayAPIStub()


def num_connected_contexts() -> int:
    """How many connections of Ray Client this driver has: none."""
    return 0
