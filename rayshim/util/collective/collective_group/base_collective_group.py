"""What a backend's group must do."""

from abc import ABC, abstractmethod


class BaseGroup(ABC):
    """One process's part in a group; derive from it for a backend of your own, see `register_collective_backend`.

    Each method takes the tensor, or the list of tensors, inside a list of one, and an object of `types`' options; results are
    written into the tensors.
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
        """Lets go of its connections."""

    @classmethod
    @abstractmethod
    def backend(cls):
        """The backend's name."""

    @classmethod
    @abstractmethod
    def check_backend_availability(cls):
        """Whether it can be used in this process."""

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
