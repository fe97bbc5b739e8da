"""`ray._private.accelerators.intel_gpu`."""

from rayshim._private.accelerators.accelerator import AcceleratorManager


class IntelGPUAcceleratorManager(AcceleratorManager):
    """Intel's GPUs for computing, as the kernel's driver lists them."""

    VISIBLE = "ONEAPI_DEVICE_SELECTOR"

    @classmethod
    def get_current_process_visible_accelerator_ids(cls):
        """The ids behind "level_zero:", strings; None: all."""
        found = super().get_current_process_visible_accelerator_ids()
        return found and [entry.removeprefix("level_zero:") for entry in found]

    @classmethod
    def get_current_node_num_accelerators(cls):
        """How many display controllers of Intel's data centre models there are."""
        import glob

        return sum(_is_max(path) for path in glob.glob("/sys/bus/pci/devices/*/device"))


def _is_max(path):
    try:
        with open(path) as device, open(path.removesuffix("device") + "vendor") as vendor:
            return vendor.read().strip() == "0x8086" and device.read().strip() in (
                "0x0bd5",
                "0x0bd6",
                "0x0bd9",
                "0x0bda",
            )
    except OSError:
        return False
