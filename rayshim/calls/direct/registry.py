"""Tensor transports by name: those that Ray brings, and the program's own."""

from __future__ import annotations

import importlib.util
import threading
from dataclasses import dataclass
from typing import Any, NamedTuple

from rayshim.calls.direct import groups
from rayshim.calls.direct.transport import CommunicatorMetadata, TensorTransportManager, TensorTransportMetadata
from rayshim.errors.user_code import at, calling


class TransportManagerInfo(NamedTuple):
    """A registered transport; `devices`: the types of devices whose tensors it takes; `data_type`: the class of the tensors."""

    transport_manager_class: type[TensorTransportManager]
    devices: list[str]
    data_type: Any


@dataclass
class CollectiveTransportMetadata(TensorTransportMetadata):
    pass


@dataclass
class CollectiveCommunicatorMetadata(CommunicatorMetadata):
    communicator_name: str = ""
    src_rank: int | None = None
    dst_rank: int | None = None


class CollectiveTensorTransport(TensorTransportManager):
    """Between actors of one collective group. The tensors travel through the session's shared memory (rayshim.worker.direct)."""

    @staticmethod
    def is_one_sided():
        return False

    @staticmethod
    def can_abort_transport():
        return False

    def actor_has_tensor_transport(self, actor):
        return bool(groups.of([actor], self.tensor_transport_backend()))

    def extract_tensor_transport_metadata(self, obj_id, rdt_object):
        kinds = {tensor.device.type for tensor in rdt_object}
        if len(kinds) > 1:
            raise ValueError(f"All tensors in an RDT object must have the same device type. (found {sorted(kinds)})")
        return CollectiveTransportMetadata([(tensor.shape, tensor.dtype) for tensor in rdt_object], *kinds)

    def get_communicator_metadata(self, src_actor, dst_actor, backend=None):
        found = groups.of([src_actor, dst_actor], backend)
        if len(found) != 1:
            raise ValueError(
                f"No communicators found for actors {src_actor} and {dst_actor}. Create a communicator with `ray.experimental.collective."
                f"create_collective_group` before calling actor tasks. with non-default tensor_transport. ({len(found)} groups, at {calling()})"
            )
        return CollectiveCommunicatorMetadata(found[0].name, found[0].get_rank(src_actor), found[0].get_rank(dst_actor))

    def recv_multiple_tensors(self, obj_id, tensor_transport_metadata, communicator_metadata, target_buffers=None):
        from rayshim.errors.exceptions import RaySystemError

        raise RaySystemError(f"{type(self).__name__}: tensors of a group travel through shared memory")

    def send_multiple_tensors(self, tensors, tensor_transport_metadata, communicator_metadata):
        pass

    def garbage_collect(self, obj_id, tensor_transport_meta, tensors):
        pass

    def abort_transport(self, obj_id, communicator_metadata):
        raise NotImplementedError("Collective transport does not support abort_transport for now.")


class GLOOTensorTransport(CollectiveTensorTransport):
    def tensor_transport_backend(self):
        return "GLOO"


class NCCLTensorTransport(CollectiveTensorTransport):
    def tensor_transport_backend(self):
        return "NCCL"


class _Absent(CollectiveTensorTransport):
    """A transport of Ray's that is not here; no actor has it."""

    name = ""

    def tensor_transport_backend(self):
        return self.name

    @staticmethod
    def is_one_sided():
        return True

    def actor_has_tensor_transport(self, actor):
        return False


class NixlTensorTransport(_Absent):
    name = "NIXL"


class CudaIpcTransport(_Absent):
    name = "CUDA_IPC"


DEFAULT_TRANSPORTS = {
    "NIXL": (NixlTensorTransport, ["cuda", "cpu"]),
    "GLOO": (GLOOTensorTransport, ["cpu"]),
    "NCCL": (NCCLTensorTransport, ["cuda"]),
    "CUDA_IPC": (CudaIpcTransport, ["cuda"]),
}
_own: dict[str, TransportManagerInfo] = {}
_managers: dict[str, TensorTransportManager] = {}
_lock = threading.Lock()


def register_tensor_transport(
    transport_name: str, devices: list[str], transport_manager_class: type[TensorTransportManager], data_type: Any
) -> None:
    """Registers a transport of the program's own, for actors that this process creates afterwards.

    Arguments:
        transport_name: the name for `tensor_transport=`, in any case.
        devices: the types of devices whose tensors it takes, such as ["cpu"].
        transport_manager_class: a class derived from TensorTransportManager.
        data_type: the class of the tensors, such as torch.Tensor or numpy.ndarray.

    Raises ValueError if the name is taken, or the class is not derived from TensorTransportManager.
    """
    name = transport_name.upper()
    if name in _own or name in DEFAULT_TRANSPORTS:
        raise ValueError(f"Transport {name} already registered. ({at('register_tensor_transport')})")
    if not issubclass(transport_manager_class, TensorTransportManager):
        raise ValueError(
            f"transport_manager_class {transport_manager_class.__name__} must be a subclass of TensorTransportManager. "
            f"({at('register_tensor_transport')})"
        )
    _own[name] = TransportManagerInfo(transport_manager_class, devices, data_type)


def own():
    """The program's transports: {name: TransportManagerInfo}, for a new actor."""
    return dict(_own)


def take(given):
    """In an actor: the transports that its creator has registered."""
    for name, info in given.items():
        _own.setdefault(name, info)


def normalized(name):
    """The registered name that is meant. Raises ValueError for an unknown one."""
    upper = name.upper()
    if upper in _own or upper in DEFAULT_TRANSPORTS and importlib.util.find_spec("torch") is not None:
        return upper
    known = ", ".join(sorted({*_own, *DEFAULT_TRANSPORTS}))
    raise ValueError(f"Invalid tensor transport: {upper} (at {calling()}: known are {known})")


def info(name):
    """The TransportManagerInfo of a normalized name."""
    if name in _own:
        return _own[name]
    if name not in DEFAULT_TRANSPORTS:
        raise ValueError(
            f"Unsupported tensor transport protocol: {name} (register it before the actors that use it are created)"
        )
    import torch

    manager_class, devices = DEFAULT_TRANSPORTS[name]
    return TransportManagerInfo(manager_class, devices, torch.Tensor)


def manager(name) -> TensorTransportManager:
    """This process's instance for a normalized name."""
    with _lock:
        if name not in _managers:
            _managers[name] = info(name).transport_manager_class()
        return _managers[name]


def forget_managers():
    """The next session has instances of its own."""
    with _lock:
        _managers.clear()


def travels_in_memory(name):
    """Whether tensors of this transport go through the session's shared memory, and not by the methods of its manager."""
    return isinstance(manager(name), CollectiveTensorTransport)
