"""The part of `ray.experimental` that rayshim provides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rayshim.experimental.dynamic_resources import set_resource as set_resource
from rayshim.experimental.locations import get_local_object_locations as get_local_object_locations
from rayshim.experimental.locations import get_object_locations as get_object_locations

if TYPE_CHECKING:
    from rayshim.experimental.rdt import CommunicatorMetadata as CommunicatorMetadata
    from rayshim.experimental.rdt import TensorTransportManager as TensorTransportManager
    from rayshim.experimental.rdt import TensorTransportMetadata as TensorTransportMetadata
    from rayshim.experimental.rdt import deregister_nixl_memory as deregister_nixl_memory
    from rayshim.experimental.rdt import register_nixl_memory as register_nixl_memory
    from rayshim.experimental.rdt import register_nixl_memory_pool as register_nixl_memory_pool
    from rayshim.experimental.rdt import register_tensor_transport as register_tensor_transport
    from rayshim.experimental.rdt import set_nixl_cuda_stream as set_nixl_cuda_stream
    from rayshim.experimental.rdt import set_target_device_for_ref as set_target_device_for_ref
    from rayshim.experimental.rdt import set_target_for_ref as set_target_for_ref
    from rayshim.experimental.rdt import wait_tensor_freed as wait_tensor_freed

_DIRECT = {
    "wait_tensor_freed",
    "register_tensor_transport",
    "register_nixl_memory",
    "deregister_nixl_memory",
    "register_nixl_memory_pool",
    "set_nixl_cuda_stream",
    "TensorTransportManager",
    "TensorTransportMetadata",
    "CommunicatorMetadata",
    "set_target_for_ref",
    "set_target_device_for_ref",
}


def __getattr__(name: str) -> Any:
    if name not in _DIRECT:
        from rayshim.as_ray.alias import submodule

        return submodule(__name__, name)
    import importlib

    return getattr(importlib.import_module("rayshim.experimental.rdt"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_DIRECT})
