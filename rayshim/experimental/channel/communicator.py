"""Communicator: a group of actors that exchange tensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class Communicator(ABC):
    """Base class for a program's own communicators. A compiled graph only asks for its actors; the tensors go through shared memory."""

    @abstractmethod
    def get_actor_handles(self) -> list[Any]:
        """The handles of its actors."""

    def get_transport_name(self) -> str:
        return "accelerator"
