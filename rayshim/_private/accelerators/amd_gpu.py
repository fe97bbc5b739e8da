"""`ray._private.accelerators.amd_gpu`."""

from rayshim._private.accelerators.accelerator import AcceleratorManager


class AMDGPUAcceleratorManager(AcceleratorManager):
    """AMD's GPUs, as the kernel's driver lists them."""

    VISIBLE = "HIP_VISIBLE_DEVICES"

    @classmethod
    def get_current_node_num_accelerators(cls):
        """How many nodes of the driver's topology are GPUs."""
        import glob

        return sum(_is_gpu(path) for path in glob.glob("/sys/class/kfd/kfd/topology/nodes/*/properties"))


def _is_gpu(path):
    try:
        with open(path) as file:
            facts = dict(line.split(maxsplit=1) for line in file if " " in line)
    except OSError:
        return False
    return int(facts.get("simd_count", 0)) > 0
