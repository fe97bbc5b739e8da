"""Checks whether an address given to the state API is the address of this program's session."""

from __future__ import annotations

from rayshim.errors.exceptions import RpcError
from rayshim.errors.user_code import calling
from rayshim.session import heads, session
from rayshim.util.state.exception import RayStateApiException

NO_SERVER = (
    "Failed to connect to API server. Please check the API server log for details. Make sure dependencies are installed with "
    "`pip install ray[default]`. Please also check dashboard is available, and included when starting ray cluster, i.e. "
    "`ray start --include-dashboard=True --head`."
)


def answers(address: str | None) -> bool:
    """Whether this program's session is at `address`. False if `address` is a URL and no session is there.

    Raises Ray's errors for an invalid address, and for another form of address where no session is. Raises RayStateApiException for the address of
    another session."""
    if address in (None, "auto", "local"):
        return True
    if "://" in address:
        kind, _, place = address.partition("://")
        if kind not in ("http", "https"):
            raise ConnectionError(
                f"ray client connection timeout (the state API at {calling()}: there is no session at {address}; give no address)"
            )
        return any(facts.get("dashboard") == place.rstrip("/") and _is_this(facts) for facts in heads.running())
    require(address)
    return True


def require(address: str | None) -> None:
    """Checks an address that is no URL. Raises Ray's error if no session is there, and RayStateApiException if another session is there."""
    if address in (None, "auto", "local"):
        return
    host, colon, port = address.rpartition(":")
    if not colon or "/" in address:
        raise ValueError(
            f"Invalid address format: {address} (the state API at {calling()}: give host:port, or no address)"
        )
    if heads.is_here(host) and _own_port() == port:
        return
    facts = heads.find(address)
    if facts is None:
        raise RpcError(
            f"Timed out while waiting for GCS to become available. (there is no session at {address}, which the state API is given at "
            f"{calling()}; give no address)"
        )
    if not _is_this(facts):
        raise RayStateApiException(
            f"The session at {address} is not the one of this program, and only that one can be asked. Give no address, or "
            f"init(address={address!r}) first. (at {calling()})"
        )


def _own_port():
    return str(session.current.settings.address).rpartition(":")[2] if session.current else None


def _is_this(facts):
    return session.current is None or _own_port() == str(facts["port"])
