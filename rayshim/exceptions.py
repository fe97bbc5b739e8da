"""`ray.exceptions`."""

from rayshim.errors.exceptions import *  # noqa: F403
