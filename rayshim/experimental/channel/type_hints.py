"""Type hints of a graph's nodes. They are checked, but have no effect on the transport of values."""

from __future__ import annotations

from rayshim.errors.user_code import at
from rayshim.experimental.channel.communicator import Communicator
from rayshim.experimental.util.types import Device


class ChannelOutputType:
    """Base class of hints for the transport of a node's result."""

    def requires_accelerator(self) -> bool:
        return False

    def get_custom_communicator(self) -> Communicator | None:
        return None


class TorchTensorType(ChannelOutputType):
    """The result of the node contains torch tensors. Raises ValueError for an unknown transport, or for "accelerator" with the device "cpu"."""

    AUTO, CPU, ACCELERATOR = "auto", "cpu", "accelerator"

    def __init__(
        self,
        transport: str | Communicator = AUTO,
        device: Device | str = Device.DEFAULT,
        _static_shape: bool = False,
        _direct_return: bool = False,
    ) -> None:
        self._communicator = transport if isinstance(transport, Communicator) else None
        self.transport: str = self.ACCELERATOR if self._communicator is not None else transport  # pyright: ignore[reportAttributeAccessIssue]  no Communicator is left
        if self.transport not in (self.AUTO, self.CPU, self.ACCELERATOR):
            raise ValueError(
                "`transport` must be TorchTensorType.AUTO, TorchTensorType.ACCELERATOR or TorchTensorType.CPU "
                f"({at('TorchTensorType')}: got {transport!r})"
            )
        if device == Device.CPU and self.transport == self.ACCELERATOR:
            raise ValueError(
                f"accelerator transport is not supported with CPU target device. ({at('TorchTensorType')}: leave one of the two out)"
            )
        self.device: Device | str = device
        self.static_shape: bool = _static_shape
        self.direct_return: bool = _direct_return

    def requires_accelerator(self) -> bool:
        return self.transport == self.ACCELERATOR

    def get_custom_communicator(self) -> Communicator | None:
        return self._communicator


class AutoTransportType(ChannelOutputType):
    """The result of the node contains tensors, whose transport depends on their devices."""

    def __init__(
        self, device: Device | str = Device.DEFAULT, _static_shape: bool = False, _direct_return: bool = False
    ) -> None:
        self.device: Device | str = device
        self.static_shape: bool = _static_shape
        self.direct_return: bool = _direct_return


def tensor_hint(
    transport: str | Communicator, device: str | Device, static_shape: bool, direct_return: bool
) -> ChannelOutputType:
    """The hint for the arguments of `with_tensor_transport`. Raises ValueError for wrong arguments."""
    try:
        device = Device(device)
    except ValueError:
        valid = ", ".join(f"'{d.value}'" for d in Device)
        raise ValueError(
            f"Invalid device '{device}'. Valid options are: {valid}. ({at('with_tensor_transport')})"
        ) from None
    if transport == "auto":
        return AutoTransportType(device, static_shape, direct_return)
    if transport == "shm":
        return TorchTensorType(TorchTensorType.AUTO, device, static_shape, direct_return)
    if transport in ("nccl", "accelerator"):
        return TorchTensorType(TorchTensorType.ACCELERATOR, device, static_shape, direct_return)
    if not isinstance(transport, Communicator):
        raise ValueError(
            f"Invalid transport type: {transport}. Transport must be one of 'auto', 'nccl', 'shm', 'accelerator' or an "
            f"instance of Communicator type. ({at('with_tensor_transport')})"
        )
    return TorchTensorType(transport, device, static_shape, direct_return)
