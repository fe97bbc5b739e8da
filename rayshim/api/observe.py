"""Functions that describe the run and the caller: `report`, `graph`, `digest`, `timeline`, `get_runtime_context`, `get_gpu_ids`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactor import _core

from rayshim.errors.user_code import at, calling
from rayshim.session import session

if TYPE_CHECKING:
    import os

    from rayshim.recording.reporting import RecordedGraph, Report
    from rayshim.worker.context import RuntimeContext


def digest(seconds: float = 60.0) -> str:
    """A hash of the arguments and results of all calls in this session, in each actor's order.

    Two runs that make the same calls with the same arguments and results have the same digest, in every placement.

    Calls of threaded and async actors count in the order in which they began. Not part of the digest: the order in which these calls end, values that a
    generator yields, and the text of errors. The order of a set of strings differs between interpreters, and the digest with it, unless
    PYTHONHASHSEED is set.

    Arguments:
        seconds: how long to wait at most until the calls made so far have ended.

    Returns 16 hexadecimal digits (str). Raises RuntimeError without a session, or after `init(digest=False)`.
    """
    s = session.current
    if s is None or not s.settings.digest:
        found = (
            "no session is running. Call digest() between init() and shutdown()"
            if s is None
            else "init(digest=False) turned the digest off. Leave digest=False out"
        )
        raise RuntimeError(f"{at('digest')}: {found}")
    import time

    until, quiet = time.monotonic() + seconds, 0
    while quiet < 2 and time.monotonic() < until:
        quiet = quiet + 1 if _core.all_sleep() else 0
        time.sleep(0.001)
    return f"{_core.digest():016x}"


def get_runtime_context() -> RuntimeContext:
    """The RuntimeContext of the caller: its job, node, actor and task ids, its resources, and more."""
    from rayshim.worker.context import runtime_context

    session.ensure()
    return runtime_context


def get_gpu_ids() -> list[int] | list[str]:
    """Ids of the GPUs that this worker may use: str if CUDA_VISIBLE_DEVICES is set on the machine, else int."""
    from rayshim.worker.context import gpu_ids

    session.ensure()
    return gpu_ids()


def report() -> Report:
    """A Report of this run so far, over all processes: learned patterns, calls made and calls that followed a pattern, places where the program left
    a pattern (divergences), results that depend on timing (physical answers), calls in arrival order, and whether another run would have the same
    results (`repeatable`). `print` shows it as a table; `to_dict()` returns its values.

    Raises RuntimeError without a session."""
    from rayshim.recording import recorder

    return recorder.report(_session())


def graph() -> RecordedGraph:
    """The graph of the patterns of calls learned so far, a RecordedGraph with `text()`, `mermaid()`, `dot()`, `html(path)`, `advice()`, `rounds()`
    and `save(path)`.

    Raises RuntimeError without a session, or after `init(learn_patterns=False)`, which learns no patterns."""
    from rayshim.recording import recorder

    return recorder.graph(_session())


def timeline(filename: str | os.PathLike[str] | None = None) -> list[dict[str, Any]] | None:
    """The times of calls and waits since the start of the session, as events for Perfetto or chrome://tracing.

    Returns a list of dicts. With `filename` (str), writes it to that file as JSON instead. Each process keeps its last 4096 calls; of short methods, after
    the first 64 calls, one call in 16. All calls, waits and copies are recorded in a session that was started with `init(trace=True)` or `python -m
    rayshim --trace PATH`. Raises RuntimeError if there is no session."""
    from rayshim.recording import tracing

    if session.current is None:
        raise RuntimeError(
            f"Ray has not been started yet. Timeline requires Ray to be initialized first. ({at('timeline')}: call init())"
        )
    return tracing.timeline(session.current, filename)


def _session() -> session.Session:
    if session.current is None:
        raise RuntimeError(f"no session is running. Call this between init() and shutdown() (at {calling()})")
    return session.current
