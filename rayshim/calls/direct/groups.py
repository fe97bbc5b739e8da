"""The collective groups that this process has made for direct tensors; `rayshim.experimental.collective` makes and ends them."""

from __future__ import annotations

from typing import Any

from rayshim.session import session


class CommunicatorHandle:
    """A collective group of actors, as the process that made it sees it."""

    def __init__(self, actors: list[Any], name: str, backend: str) -> None:
        self._actors, self._name, self._backend = list(actors), name, backend

    def get_rank(self, actor: Any) -> int:
        """The actor's rank, -1 if it is not in the group."""
        return next((rank for rank, member in enumerate(self._actors) if member == actor), -1)

    @property
    def actors(self) -> list[Any]:
        return self._actors[:]

    @property
    def name(self) -> str:
        return self._name

    @property
    def backend(self) -> str:
        return self._backend


groups: dict[str, CommunicatorHandle] = {}  # by name
session.after_begin.append(groups.clear)  # actors of another session may have the same ids


def of(actors, backend=None):
    """The groups with this backend (None: any) that all these actors are in."""
    return [
        group
        for group in groups.values()
        if all(group.get_rank(actor) >= 0 for actor in actors) and backend in (None, group.backend)
    ]
