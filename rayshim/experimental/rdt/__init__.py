"""Ray Direct Transport: tensors that stay in the actor that has made them until another one needs them."""

from rayshim.calls.direct.registry import register_tensor_transport
from rayshim.calls.direct.transport import (
    CommunicatorMetadata,
    FetchRequest,
    TensorTransportManager,
    TensorTransportMetadata,
)
from rayshim.experimental.rdt.nixl import (
    deregister_nixl_memory,
    register_nixl_memory,
    register_nixl_memory_pool,
    set_nixl_cuda_stream,
)
from rayshim.experimental.rdt.rdt_manager import set_target_device_for_ref, set_target_for_ref, wait_tensor_freed

__all__ = [
    "CommunicatorMetadata",
    "FetchRequest",
    "TensorTransportManager",
    "TensorTransportMetadata",
    "deregister_nixl_memory",
    "register_nixl_memory",
    "register_nixl_memory_pool",
    "register_tensor_transport",
    "set_nixl_cuda_stream",
    "set_target_device_for_ref",
    "set_target_for_ref",
    "wait_tensor_freed",
]
