"""The registry of tensor transports."""

from rayshim.calls.direct.registry import TransportManagerInfo, register_tensor_transport
from rayshim.experimental.rdt.nixl import (
    deregister_nixl_memory,
    register_nixl_memory,
    register_nixl_memory_pool,
    set_nixl_cuda_stream,
)

__all__ = [
    "TransportManagerInfo",
    "deregister_nixl_memory",
    "register_nixl_memory",
    "register_nixl_memory_pool",
    "register_tensor_transport",
    "set_nixl_cuda_stream",
]
