"""DAGContext: settings of this process's graphs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from rayshim.errors.sites import at


def _from_environment(name, kind, default):
    return field(default_factory=lambda: kind(os.environ.get(f"RAY_CGRAPH_{name}", default)))


def _flag(text):
    return str(text).lower() in ("1", "true")


@dataclass
class DAGContext:
    """Settings of the graphs that are compiled from now on; defaults from the environment, `RAY_CGRAPH_<name>`.

    Attributes:
        submit_timeout: seconds that `execute` waits for room.
        get_timeout: seconds that a result is waited for where `ray.get` gives no timeout.
        teardown_timeout: seconds that `teardown` waits for what still runs.
        max_inflight_executions: executions whose results have not been taken, at most.
        max_buffered_results: results of earlier executions kept while a later one is asked for, at most.
        read_iteration_timeout, buffer_size_bytes, overlap_gpu_communication: of Ray's own channels; they have no meaning here.
    """

    submit_timeout: float = _from_environment("submit_timeout", int, 10)
    get_timeout: float = _from_environment("get_timeout", int, 10)
    teardown_timeout: float = _from_environment("teardown_timeout", int, 30)
    read_iteration_timeout: float = _from_environment("read_iteration_timeout_s", float, 0.1)
    buffer_size_bytes: int = _from_environment("buffer_size_bytes", lambda text: int(float(text)), 1_000_000)
    max_inflight_executions: int = _from_environment("max_inflight_executions", int, 10)
    max_buffered_results: int = _from_environment("max_buffered_results", int, 1000)
    overlap_gpu_communication: bool = _from_environment("overlap_gpu_communication", _flag, "0")

    def __post_init__(self):
        if self.read_iteration_timeout > self.get_timeout:
            raise ValueError(
                f"RAY_CGRAPH_read_iteration_timeout_s ({self.read_iteration_timeout}) must be less than or equal to "
                f"RAY_CGRAPH_get_timeout ({self.get_timeout}) ({at('DAGContext')}: set one of these environment variables, or the argument, to another number of seconds)"
            )

    @staticmethod
    def get_current() -> Any:
        """The context of this process, made when first asked for."""
        global _current
        if _current is None:
            _current = DAGContext()
        return _current


_current = None
