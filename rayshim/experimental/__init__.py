"""The part of `ray.experimental` that rayshim provides."""

from rayshim.experimental.locations import get_local_object_locations, get_object_locations  # noqa: F401
