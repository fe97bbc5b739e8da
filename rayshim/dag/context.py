"""DAGContext: the settings for compiled graphs of this process."""

from __future__ import annotations

import os
from dataclasses import dataclass

from rayshim.errors.user_code import at
from rayshim.session.switches import is_on


def _setting(name, kind, default):
    return kind(os.environ.get(f"RAY_CGRAPH_{name}", default))


# Read at the import, as on Ray.
DEFAULT_SUBMIT_TIMEOUT_S: int = _setting("submit_timeout", int, 10)
DEFAULT_GET_TIMEOUT_S: int = _setting("get_timeout", int, 10)
DEFAULT_TEARDOWN_TIMEOUT_S: int = _setting("teardown_timeout", int, 30)
DEFAULT_READ_ITERATION_TIMEOUT_S: float = _setting("read_iteration_timeout_s", float, 0.1)
DEFAULT_BUFFER_SIZE_BYTES: int = _setting("buffer_size_bytes", lambda text: int(float(text)), 1_000_000)
DEFAULT_MAX_INFLIGHT_EXECUTIONS: int = _setting("max_inflight_executions", int, 10)
DEFAULT_MAX_BUFFERED_RESULTS: int = _setting("max_buffered_results", int, 1000)
DEFAULT_OVERLAP_GPU_COMMUNICATION: bool = is_on("RAY_CGRAPH_overlap_gpu_communication")


@dataclass
class DAGContext:
    """Settings for graphs that are compiled later. The defaults are environment variables, `RAY_CGRAPH_<name>`.

    Attributes:
        submit_timeout: most seconds that `execute` waits until it can start.
        get_timeout: most seconds that `ray.get` without a timeout waits for a result.
        teardown_timeout: most seconds that `teardown` waits for running executions.
        max_inflight_executions: most executions whose results have not been fetched.
        max_buffered_results: most results of earlier executions that are buffered while `get` waits for a later one.
        read_iteration_timeout, buffer_size_bytes, overlap_gpu_communication: for Ray's own channels; no meaning here.
    """

    submit_timeout: float = DEFAULT_SUBMIT_TIMEOUT_S
    get_timeout: float = DEFAULT_GET_TIMEOUT_S
    teardown_timeout: float = DEFAULT_TEARDOWN_TIMEOUT_S
    read_iteration_timeout: float = DEFAULT_READ_ITERATION_TIMEOUT_S
    buffer_size_bytes: int = DEFAULT_BUFFER_SIZE_BYTES
    max_inflight_executions: int = DEFAULT_MAX_INFLIGHT_EXECUTIONS
    max_buffered_results: int = DEFAULT_MAX_BUFFERED_RESULTS
    overlap_gpu_communication: bool = DEFAULT_OVERLAP_GPU_COMMUNICATION

    def __post_init__(self) -> None:
        if self.read_iteration_timeout > self.get_timeout:
            raise ValueError(
                f"RAY_CGRAPH_read_iteration_timeout_s ({self.read_iteration_timeout}) must be less than or equal to "
                f"RAY_CGRAPH_get_timeout ({self.get_timeout}) ({at('DAGContext')}: set one of these environment variables, or the argument, to another number of seconds)"
            )

    @staticmethod
    def get_current() -> DAGContext:
        """The context of this process, created at the first call."""
        global _current
        if _current is None:
            _current = DAGContext()
        return _current


_current = None
