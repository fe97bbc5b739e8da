"""Ray Client, a driver outside of its cluster. Here each driver is in its session, so there is no such connection, and this tells programs that ask."""

from __future__ import annotations

from typing import Any, NoReturn


class _ClientContext:
    """A connection that is never made."""

    api: None = None
    client_worker: None = None

    def __getattr__(self, name: str) -> Any:
        if name in ("is_initialized", "_internal_kv_initialized"):
            return lambda: False
        if name.startswith("__"):
            raise AttributeError(name)
        raise Exception("Ray Client is not connected. Please connect by calling `ray.init`.")  # noqa: TRY002  Ray raises this class

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


_default_context: _ClientContext = _ClientContext()


class RayAPIStub:
    """What `ray.util.client.ray` is: the state of Ray Client, and Ray's functions for a driver that is connected by it."""

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

    def __getattr__(self, name: str) -> Any:
        if name == "_context":
            raise AttributeError(name)
        return getattr(self._context, name)


ray: RayAPIStub = RayAPIStub()


def num_connected_contexts() -> int:
    """How many connections of Ray Client this driver has: none."""
    return 0
