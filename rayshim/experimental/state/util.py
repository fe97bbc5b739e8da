"""`ray.experimental.state.util`: the former place of `ray.util.state.util`."""

from rayshim.util.state.util import *  # noqa: F403
from rayshim.util.state.util import record_deprecated_state_api_import

record_deprecated_state_api_import()
