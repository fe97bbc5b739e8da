"""`ray.experimental.state.api`: the former place of `ray.util.state`."""

from rayshim.util.state import *  # noqa: F403
from rayshim.util.state.util import record_deprecated_state_api_import

record_deprecated_state_api_import()
