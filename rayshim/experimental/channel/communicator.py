"""Communicator: a group of actors that exchange tensors."""

from abc import ABC, abstractmethod


class Communicator(ABC):
    """Base class for a program's own communicators. A compiled graph only asks for its actors; the tensors go through shared memory."""

    @abstractmethod
    def get_actor_handles(self):
        """The handles of its actors."""

    def get_transport_name(self):
        return "accelerator"
