"""`ray._private.accelerators.npu`."""

from rayshim._private.accelerators.accelerator import AcceleratorManager


class NPUAcceleratorManager(AcceleratorManager):
    """Huawei's Ascend processors."""

    RESOURCE = "NPU"
    VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"
    DEVICES = ("/dev/davinci[0-9]*",)
