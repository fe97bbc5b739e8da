"""`ray.util.collective.util`: actors by which the members of a group meet, for backends that the program registers."""

from __future__ import annotations

import asyncio
from typing import Any

from rayshim import api
from rayshim.errors.logs import logger


@api.remote
class NCCLUniqueIDStore:
    """Keeps the id that rank 0 of a group has made, until the others have asked for it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nccl_id: Any = None
        self.event = asyncio.Event()

    async def set_id(self, uid: Any) -> Any:
        self.nccl_id = uid
        self.event.set()
        return uid

    async def wait_and_get_id(self) -> Any:
        """The id, as soon as it is set."""
        await self.event.wait()
        return self.nccl_id

    def get_id(self) -> Any:
        """The id; None if it is not set yet."""
        if not self.nccl_id:
            logger.warning(f"The NCCL ID has not been set yet for store {self.name}.")
        return self.nccl_id


@api.remote
class Info:
    """Keeps the facts of a group."""

    def __init__(self) -> None:
        self.ids: Any = None
        self.world_size: int = -1
        self.rank: Any = -1
        self.backend: Any = None
        self.gloo_timeout: int = 30000

    def set_info(self, ids: Any, world_size: int, rank: Any, backend: Any, gloo_timeout: int) -> None:
        self.ids, self.world_size, self.rank = ids, world_size, rank
        self.backend, self.gloo_timeout = backend, gloo_timeout

    def get_info(self) -> tuple[Any, ...]:
        """(ids, world_size, rank, backend, gloo_timeout)"""
        return self.ids, self.world_size, self.rank, self.backend, self.gloo_timeout
