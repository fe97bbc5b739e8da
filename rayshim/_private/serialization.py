"""`ray._private.serialization`."""

from rayshim.worker.context import SerializationContext

__all__ = ["DeserializationError", "SerializationContext"]


class DeserializationError(Exception):
    """A value cannot be unpickled."""
