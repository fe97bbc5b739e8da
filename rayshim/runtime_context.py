"""`ray.runtime_context`: facts about the calling driver, task or actor."""

from rayshim.api import get_runtime_context
from rayshim.worker.context import RuntimeContext

__all__ = ["RuntimeContext", "get_runtime_context"]
