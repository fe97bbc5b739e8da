"""Ray Client, which connects to a cluster elsewhere: refused."""

from __future__ import annotations


def client(address: str | None = None, _deprecation_warn_enabled: bool = True) -> None:
    """Raises ConnectionError: there is no cluster to connect to."""
    from rayshim.api.arguments import check_address

    check_address(address or "auto")
