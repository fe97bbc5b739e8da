"""`ray.experimental.queue`: the former place of `ray.util.queue`."""

import warnings

from rayshim.util.queue import Empty, Full, Queue

warnings.warn(
    "ray.experimental.queue has been moved to ray.util.queue. Please update your import path.",
    DeprecationWarning,
    stacklevel=2,
)
__all__ = ["Empty", "Full", "Queue"]
