"""`ray.internal`."""

from rayshim.api.values import free

__all__ = ["free"]
