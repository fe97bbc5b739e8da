"""`ray.util.connect` and `disconnect`, the old form of `init("ray://...")` and `shutdown`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactor import _core

from rayshim import api
from rayshim.session import session
from rayshim.session.version import RAY_COMMIT, RAY_VERSION

if TYPE_CHECKING:
    from rayshim.api.job_config import JobConfig

_connected = None  # number of the session that `connect` has begun


def connect(
    conn_str: str,
    secure: bool = False,
    metadata: list[tuple[str, str]] | None = None,
    connection_retries: int = 3,
    job_config: JobConfig | None = None,
    namespace: str | None = None,
    *,
    ignore_version: bool = False,
    _credentials: Any = None,
    ray_init_kwargs: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Attaches this program to the session at `conn_str` (host:port), as `init(f"ray://{conn_str}")` does; returns facts of both sides.

    Arguments: job_config, namespace, and ray_init_kwargs: those of `init`. The others have no meaning on one machine.

    Raises ConnectionError if no session runs there, RuntimeError if this program has one already.
    """
    import sys

    global _connected
    given = dict(ray_init_kwargs or {})
    if session.current is not None and not given.pop("ignore_reinit_error", False):
        raise RuntimeError(
            'Ray Client is already connected. Maybe you called ray.init("ray://<address>") twice by accident?'
        )
    if session.current is None:
        api.init(f"ray://{conn_str}", job_config=job_config, namespace=namespace, **given)
        _connected = _core.epoch()
    python = ".".join(map(str, sys.version_info[:3]))
    return {"num_clients": 1, "python_version": python, "ray_version": RAY_VERSION, "ray_commit": RAY_COMMIT}


def disconnect() -> None:
    """Ends the session of `connect`. It has no effect on a session of `init`, as on Ray."""
    if session.current is not None and _core.epoch() == _connected:
        api.shutdown()
