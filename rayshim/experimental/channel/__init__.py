"""How values travel between the actors of a compiled graph. Here always through shared memory; these are the names that say so."""

from rayshim.experimental.channel.communicator import Communicator
from rayshim.experimental.channel.cpu_communicator import CPUCommunicator
from rayshim.experimental.channel.type_hints import ChannelOutputType

__all__ = ["CPUCommunicator", "ChannelOutputType", "Communicator"]
