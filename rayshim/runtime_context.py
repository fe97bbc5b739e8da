"""`ray.runtime_context`: who is asking."""

from rayshim.api import get_runtime_context  # noqa: F401
from rayshim.worker.context import RuntimeContext  # noqa: F401
