"""`ray.util.check_serialize`."""

from rayshim.errors.unpicklable import FailureTuple, inspect_serializability  # noqa: F401
