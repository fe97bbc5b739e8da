"""The part of `ray.experimental` that rayshim provides."""

from __future__ import annotations

from typing import Any

from rayshim.experimental.dynamic_resources import set_resource  # noqa: F401
from rayshim.experimental.locations import get_local_object_locations, get_object_locations  # noqa: F401

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
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module("rayshim.experimental.rdt"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_DIRECT})
