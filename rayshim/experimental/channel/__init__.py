"""Ray's names for the channels between actors of a compiled graph. Here values always go through shared memory."""

from rayshim.experimental.channel.communicator import Communicator
from rayshim.experimental.channel.cpu_communicator import CPUCommunicator
from rayshim.experimental.channel.type_hints import ChannelOutputType

__all__ = ["CPUCommunicator", "ChannelOutputType", "Communicator"]
