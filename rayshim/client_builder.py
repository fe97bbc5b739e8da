"""Ray Client's older way to say `init(address=)`."""


class ClientBuilder:
    """What `ray.client(address)` gives: `connect()` is `init(address="ray://" + address)` with what was said before."""

    def __init__(self, address):
        self._address = address
        self._arguments = {}

    def env(self, env):
        """The runtime environment of the program."""
        self._arguments["runtime_env"] = env
        return self

    def namespace(self, namespace):
        self._arguments["namespace"] = namespace
        return self

    def connect(self):
        """Attaches, and gives the RayContext."""
        from rayshim.api.start import init

        return init(self._address, **self._arguments)


from __future__ import annotations


def client(address: str | None = None, _deprecation_warn_enabled: bool = True) -> None:
    """A ClientBuilder for the session at `address` (host:port, with or without "ray://"; default: the one that runs here)."""
    if address and "://" not in address and address not in ("auto", "local"):
        address = f"ray://{address}"
    return ClientBuilder(address or "auto")


class ClientContext:
    """For annotations: what a connection would give."""


class ClientBuilder:
    """What `client` gives in Ray; making one raises ConnectionError."""

    def __init__(self, address):
        client(address)
