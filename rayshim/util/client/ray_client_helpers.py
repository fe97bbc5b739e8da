"""`ray.util.client.ray_client_helpers`. There is no server between a program and its session here: the client is the program's own driver."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rayshim import api

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType


@contextmanager
def ray_start_client_server(
    metadata: Any = None, ray_connect_handler: Callable[..., Any] | None = None, **kwargs: Any
) -> Iterator[ModuleType]:
    """A context manager that starts a session, unless the program has one, and gives the module with its API. The session ends at the end of the block.

    Arguments:
        metadata: accepted, without effect, because there is no server.
        ray_connect_handler: function that is called with `kwargs` to start the session. None: `ray.init`, if there is no session.
    """
    if ray_connect_handler is not None or not api.is_initialized():
        (ray_connect_handler or api.init)(**kwargs)
    try:
        yield sys.modules["rayshim"]
    finally:
        api.shutdown()
