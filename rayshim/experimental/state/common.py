"""`ray.experimental.state.common`: the former place of `ray.util.state.common`."""

from rayshim.util.state.common import *  # noqa: F403
from rayshim.util.state.util import record_deprecated_state_api_import

record_deprecated_state_api_import()
