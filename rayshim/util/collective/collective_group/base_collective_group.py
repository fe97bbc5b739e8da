"""BaseGroup, the base class for the groups of a backend."""

from abc import ABC, abstractmethod


class BaseGroup(ABC):
    """One process's part in a group. Derive your own backend from it; see `register_collective_backend`.

    Each method takes a list with one element, the tensor or the list of tensors, and an options object of `types`. Results are written into the
    tensors.
    """

    def __init__(self, world_size, rank, group_name):
        self._world_size, self._rank, self._group_name = world_size, rank, group_name

    @property
    def rank(self):
        return self._rank

    @property
    def world_size(self):
        return self._world_size

    @property
    def group_name(self):
        return self._group_name

    def destroy_group(self):
        """Closes the group's connections."""

    @classmethod
    @abstractmethod
    def backend(cls):
        """The backend's name."""

    @classmethod
    @abstractmethod
    def check_backend_availability(cls):
        """Whether the backend can be used in this process."""

    @abstractmethod
    def allreduce(self, tensor, allreduce_options): ...

    @abstractmethod
    def barrier(self, barrier_options): ...

    @abstractmethod
    def reduce(self, tensor, reduce_options): ...

    @abstractmethod
    def allgather(self, tensor_list, tensor, allgather_options): ...

    @abstractmethod
    def broadcast(self, tensor, broadcast_options): ...

    @abstractmethod
    def reducescatter(self, tensor, tensor_list, reducescatter_options): ...

    @abstractmethod
    def send(self, tensor, send_options): ...

    @abstractmethod
    def recv(self, tensor, recv_options): ...
