"""`ray._private.accelerators`: which accelerators this machine has."""

from rayshim._private.accelerators.amd_gpu import AMDGPUAcceleratorManager
from rayshim._private.accelerators.intel_gpu import IntelGPUAcceleratorManager
from rayshim._private.accelerators.npu import NPUAcceleratorManager
from rayshim._private.accelerators.nvidia_gpu import NvidiaGPUAcceleratorManager
from rayshim.worker.context import ACCELERATORS

_MANAGERS = (
    NvidiaGPUAcceleratorManager,
    IntelGPUAcceleratorManager,
    AMDGPUAcceleratorManager,
    NPUAcceleratorManager,
)


def get_all_accelerator_managers():
    """The set of the managers."""
    return set(_MANAGERS)


def get_all_accelerator_resource_names():
    """The set of the resources' names, "GPU" and others."""
    return set(ACCELERATORS)


def get_accelerator_manager_for_resource(resource_name):
    """The manager of that resource, for "GPU" that of the GPUs which this machine has; None for a resource that has none."""
    found = [manager for manager in _MANAGERS if manager.get_resource_name() == resource_name]
    there = [manager for manager in found if manager.get_current_node_num_accelerators()]
    return next(iter(there or found), None)


__all__ = [
    "AMDGPUAcceleratorManager",
    "IntelGPUAcceleratorManager",
    "NPUAcceleratorManager",
    "NvidiaGPUAcceleratorManager",
    "get_accelerator_manager_for_resource",
    "get_all_accelerator_managers",
    "get_all_accelerator_resource_names",
]
