"""DAGContext: the settings for compiled graphs of this process."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from rayshim.errors.sites import at


def _from_environment(name, kind, default):
    return field(default_factory=lambda: kind(os.environ.get(f"RAY_CGRAPH_{name}", default)))


def _flag(text):
    return str(text).lower() in ("1", "true")


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

    submit_timeout: float = _from_environment("submit_timeout", int, 10)
    get_timeout: float = _from_environment("get_timeout", int, 10)
    teardown_timeout: float = _from_environment("teardown_timeout", int, 30)
    read_iteration_timeout: float = _from_environment("read_iteration_timeout_s", float, 0.1)
    buffer_size_bytes: int = _from_environment("buffer_size_bytes", lambda text: int(float(text)), 1_000_000)
    max_inflight_executions: int = _from_environment("max_inflight_executions", int, 10)
    max_buffered_results: int = _from_environment("max_buffered_results", int, 1000)
    overlap_gpu_communication: bool = _from_environment("overlap_gpu_communication", _flag, "0")

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
