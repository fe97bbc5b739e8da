"""Communicator: a group of actors that exchange tensors."""

from abc import ABC, abstractmethod


class Communicator(ABC):
    """What a program derives its own communicators from. A compiled graph asks it which actors belong to it, and no more: the
    tensors themselves go through shared memory."""

    @abstractmethod
    def get_actor_handles(self):
        """The handles of its actors."""

    def get_transport_name(self):
        return "accelerator"
