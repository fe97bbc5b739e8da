"""`ray.remote_function`."""

from rayshim.calls.function import RemoteFunction

__all__ = ["RemoteFunction"]
