"""`ray.remote_function`."""

from rayshim.function import RemoteFunction  # noqa: F401
