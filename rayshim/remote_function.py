"""`ray.remote_function`."""

from rayshim.calls.function import RemoteFunction  # noqa: F401
