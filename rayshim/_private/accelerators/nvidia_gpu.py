"""`ray._private.accelerators.nvidia_gpu`."""

import re

from rayshim._private.accelerators.accelerator import AcceleratorManager


class NvidiaGPUAcceleratorManager(AcceleratorManager):
    """NVIDIA's GPUs."""

    DEVICES = ("/dev/nvidia[0-9]*",)

    @classmethod
    def get_current_node_accelerator_type(cls):
        """The first one's type, such as "H100", as the driver tells; None without one."""
        import glob

        for path in glob.glob("/proc/driver/nvidia/gpus/*/information"):
            with open(path) as file:
                model = re.search(r"^Model:\s*(.*)$", file.read(), re.MULTILINE)
            if model:
                return cls._gpu_name_to_accelerator_type(model.group(1))
        return None

    @staticmethod
    def _gpu_name_to_accelerator_type(name):
        """ "NVIDIA H100 80GB HBM3" is "H100", "Tesla V100-SXM2-16GB" is "V100"."""
        found = re.search(r"(?:\w+\s+)?(?:Tesla\s+|NVIDIA\s+)?([A-Z]+[0-9]+[A-Z]*)", name or "")
        return found.group(1) if found else None
