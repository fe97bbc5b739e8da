"""`ray.runtime_context`: facts about the calling driver, task or actor."""

from rayshim.api import get_runtime_context  # noqa: F401
from rayshim.worker.context import RuntimeContext  # noqa: F401
