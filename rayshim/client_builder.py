"""Ray Client's older way to say `init(address=)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rayshim.api.ray_context import RayContext


class ClientBuilder:
    """The result of `ray.client(address)`. `connect()` calls `init(address="ray://" + address)` with the settings of the earlier calls."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._arguments: dict[str, Any] = {}

    def env(self, env: dict[str, Any]) -> ClientBuilder:
        """Sets the runtime environment of the program. Returns this ClientBuilder."""
        self._arguments["runtime_env"] = env
        return self

    def namespace(self, namespace: str) -> ClientBuilder:
        self._arguments["namespace"] = namespace
        return self

    def connect(self) -> RayContext:
        """Attaches the program to the session, and returns the RayContext."""
        from rayshim.api.start import init

        return init(self._address, **self._arguments)


def client(address: str | None = None, _deprecation_warn_enabled: bool = True) -> ClientBuilder:
    """A ClientBuilder for the session at `address` (host:port, with or without "ray://"; default: the one that runs here)."""
    if address and "://" not in address and address not in ("auto", "local"):
        address = f"ray://{address}"
    return ClientBuilder(address or "auto")


class ClientContext:
    """For annotations: the type that Ray's `connect` returns."""
