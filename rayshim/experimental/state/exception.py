"""`ray.experimental.state.exception`: the former place of `ray.util.state.exception`."""

from rayshim.util.state.exception import *  # noqa: F403
from rayshim.util.state.util import record_deprecated_state_api_import

record_deprecated_state_api_import()
