"""`ray.experimental.state.api`: the former place of `ray.util.state`."""

import warnings

from rayshim.util.state import *  # noqa: F403

warnings.warn(
    "Ray state API is no longer experimental. Please import from `ray.util.state`.", DeprecationWarning, stacklevel=2
)
