"""BaseGroup, the base class for the groups of a backend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rayshim.util.collective import types


class BaseGroup(ABC):
    """One process's part in a group. Derive your own backend from it; see `register_collective_backend`.

    Each method takes a list with one element, the tensor or the list of tensors, and an options object of `types`. Results are written into the
    tensors.
    """

    def __init__(self, world_size: int, rank: int, group_name: str) -> None:
        self._world_size, self._rank, self._group_name = world_size, rank, group_name

    @property
    def rank(self) -> int:
        return self._rank

    @property
    def world_size(self) -> int:
        return self._world_size

    @property
    def group_name(self) -> str:
        return self._group_name

    def destroy_group(self) -> None:
        """Closes the group's connections."""

    @classmethod
    @abstractmethod
    def backend(cls) -> str:
        """The backend's name."""

    @classmethod
    @abstractmethod
    def check_backend_availability(cls) -> bool:
        """Whether the backend can be used in this process."""

    @abstractmethod
    def allreduce(self, tensor: Any, allreduce_options: types.AllReduceOptions) -> None: ...

    @abstractmethod
    def barrier(self, barrier_options: types.BarrierOptions) -> None: ...

    @abstractmethod
    def reduce(self, tensor: Any, reduce_options: types.ReduceOptions) -> None: ...

    @abstractmethod
    def allgather(self, tensor_list: list[Any], tensor: Any, allgather_options: types.AllGatherOptions) -> None: ...

    @abstractmethod
    def broadcast(self, tensor: Any, broadcast_options: types.BroadcastOptions) -> None: ...

    @abstractmethod
    def reducescatter(
        self, tensor: Any, tensor_list: list[Any], reducescatter_options: types.ReduceScatterOptions
    ) -> None: ...

    @abstractmethod
    def send(self, tensor: Any, send_options: types.SendOptions) -> None: ...

    @abstractmethod
    def recv(self, tensor: Any, recv_options: types.RecvOptions) -> None: ...
