"""TorchTensorType, in the module where Ray has it."""

from rayshim.experimental.channel.type_hints import TorchTensorType

__all__ = ["TorchTensorType"]
