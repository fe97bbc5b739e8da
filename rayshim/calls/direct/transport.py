"""The interface of tensor transports, as in `ray.experimental.rdt.tensor_transport_manager`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any


@dataclass
class CommunicatorMetadata:
    """The facts that a sender and a receiver need of each other; a transport derives its own class."""


@dataclass
class TensorTransportMetadata:
    """The facts of an object's tensors that a receiver needs; a transport may derive its own class.

    Attributes:
        tensor_meta: [(shape, dtype)], one for each tensor.
        tensor_device: the type of the device that all of them are on, such as "cpu".
    """

    tensor_meta: list[Any]
    tensor_device: str | None = None


@dataclass
class FetchRequest:
    """A transfer that was begun; `tensors` are there at once where the transport does not work in the background."""

    obj_id: str
    tensors: list[Any]


class TensorTransportManager(ABC):
    """A way for tensors to get from actor to actor. Derive a class, and name it by `ray.experimental.register_tensor_transport`.

    Every process that takes part makes one instance. `obj_id` is the name of an object, the same in all processes.
    """

    @abstractmethod
    def tensor_transport_backend(self) -> str:
        """The transport's name."""

    @staticmethod
    @abstractmethod
    def is_one_sided() -> bool:
        """Whether the receiver alone makes the transfer; otherwise the sender's `send_multiple_tensors` is called, too."""

    @staticmethod
    @abstractmethod
    def can_abort_transport() -> bool:
        """Whether `abort_transport` can end a transfer that has begun."""

    @abstractmethod
    def actor_has_tensor_transport(self, actor: Any) -> bool:
        """Whether that actor can use the transport; asked in the process that calls it."""

    @abstractmethod
    def extract_tensor_transport_metadata(self, obj_id: str, rdt_object: list[Any]) -> TensorTransportMetadata:
        """Called by the sender when a method has returned these tensors."""

    @abstractmethod
    def get_communicator_metadata(
        self, src_actor: Any, dst_actor: Any, backend: str | None = None
    ) -> CommunicatorMetadata:
        """Called before a transfer between these two actors. Here the receiver calls it, on Ray the process that made the call."""

    @abstractmethod
    def recv_multiple_tensors(
        self,
        obj_id: str,
        tensor_transport_metadata: TensorTransportMetadata,
        communicator_metadata: CommunicatorMetadata,
        target_buffers: list[Any] | None = None,
    ) -> list[Any]:
        """Called by the receiver; returns the tensors, in `target_buffers` if they are given and the transport is able to."""

    def fetch_multiple_tensors(
        self,
        obj_id: str,
        tensor_transport_metadata: TensorTransportMetadata,
        communicator_metadata: CommunicatorMetadata,
        target_buffers: list[Any] | None = None,
    ) -> FetchRequest:
        """Begins a transfer; `wait_fetch_complete` ends it. A transport that works in the background overrides both."""
        tensors = self.recv_multiple_tensors(obj_id, tensor_transport_metadata, communicator_metadata, target_buffers)
        return FetchRequest(obj_id, tensors)

    def wait_fetch_complete(self, fetch_request: FetchRequest, timeout: float = -1) -> list[Any]:
        """The tensors of a transfer; waits for at most `timeout` seconds (-1: no limit), then raises TimeoutError."""
        return fetch_request.tensors

    @abstractmethod
    def send_multiple_tensors(
        self,
        tensors: list[Any],
        tensor_transport_metadata: TensorTransportMetadata,
        communicator_metadata: CommunicatorMetadata,
    ) -> None:
        """Called by the sender of a transport that is not one-sided, beside the actor's own calls."""

    @abstractmethod
    def garbage_collect(self, obj_id: str, tensor_transport_meta: TensorTransportMetadata, tensors: list[Any]) -> None:
        """Called by the sender when no process has a ref of the object any more."""

    @abstractmethod
    def abort_transport(self, obj_id: str, communicator_metadata: CommunicatorMetadata) -> None:
        """Called when a transfer has failed, if `can_abort_transport`."""
