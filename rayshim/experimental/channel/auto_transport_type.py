"""AutoTransportType, in the module where Ray has it."""

from rayshim.experimental.channel.type_hints import AutoTransportType

__all__ = ["AutoTransportType"]
