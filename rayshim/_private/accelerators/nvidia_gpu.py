"""`ray._private.accelerators.nvidia_gpu`."""

from rayshim._private.accelerators.accelerator import AcceleratorManager
from rayshim.resources import accelerators


class NvidiaGPUAcceleratorManager(AcceleratorManager):
    """NVIDIA's GPUs."""

    DEVICES = ("/dev/nvidia[0-9]*",)

    @classmethod
    def get_current_node_accelerator_type(cls):
        """The first one's type, such as "H100", as the driver tells; None without one."""
        return accelerators.nvidia_type()

    @staticmethod
    def _gpu_name_to_accelerator_type(name):
        """ "NVIDIA H100 80GB HBM3" is "H100", "Tesla V100-SXM2-16GB" is "V100"."""
        return accelerators.nvidia_type_of(name)
