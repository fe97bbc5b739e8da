"""CPUCommunicator: a group of actors whose tensors are in ordinary memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rayshim.errors.user_code import at
from rayshim.experimental.channel.communicator import Communicator

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rayshim.calls.handle import ActorHandle


class CPUCommunicator(Communicator):
    """The group of `actor_handles`; `world_size` is their number."""

    def __init__(self, world_size: int, actor_handles: Iterable[ActorHandle[Any] | type[Any]]) -> None:
        self._world_size, self._actor_handles = world_size, list(actor_handles)

    def get_actor_handles(self) -> list[Any]:
        return self._actor_handles

    def get_world_size(self) -> int:
        return self._world_size

    def get_rank(self, actor: ActorHandle[Any] | type[Any]) -> int:
        """The actor's index in the group. Raises ValueError if the actor is not in the group."""
        if actor not in self._actor_handles:
            raise ValueError(
                f"Actor is not in the CPUCommunicator group. ({at('get_rank')}: {actor!r}, of {len(self._actor_handles)} actors)"
            )
        return self._actor_handles.index(actor)
