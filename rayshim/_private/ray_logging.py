"""`ray._private.ray_logging`: how workers' lines are merged, as the environment says (see rayshim.api.worker_lines)."""

import os
import re

from rayshim.session.switches import is_on

RAY_DEDUP_LOGS = is_on("RAY_DEDUP_LOGS", "1")
RAY_DEDUP_LOGS_AGG_WINDOW_S = int(os.environ.get("RAY_DEDUP_LOGS_AGG_WINDOW_S", "5"))
NUMBERS = re.compile(r"(\d+|0x[0-9a-fA-F]+)")
