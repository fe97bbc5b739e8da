"""The network address of this machine."""

from __future__ import annotations

from functools import cache


@cache
def get_node_ip_address(address: str | None = None) -> str:
    """The IPv4 address (str) by which this machine would reach `address` ("host:port", default a public one).

    Nothing is sent. Returns `127.0.0.1` if this machine has no route there.
    """
    import socket

    host, _, port = (address or "8.8.8.8:53").rpartition(":")
    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        probe.connect((host, int(port)))  # UDP: only chooses the route
        return probe.getsockname()[0]
    except (OSError, ValueError):
        return "127.0.0.1"
    finally:
        probe.close()


def get_node_instance_id() -> str:
    """The cloud's name for this machine, `RAY_CLOUD_INSTANCE_ID`, or an empty str."""
    import os

    return os.environ.get("RAY_CLOUD_INSTANCE_ID", "")
