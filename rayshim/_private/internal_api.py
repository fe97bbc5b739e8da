"""`ray._private.internal_api`."""

from rayshim.internal import free

__all__ = ["free"]
