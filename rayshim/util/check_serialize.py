"""`ray.util.check_serialize`."""

from rayshim.errors.unpicklable import FailureTuple, inspect_serializability

__all__ = ["FailureTuple", "inspect_serializability"]
