"""What a run tells of itself: `report`, `graph`, `digest`, `timeline`, and who is asking."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reactor import _core

from rayshim.errors.sites import at, calling
from rayshim.session import session

if TYPE_CHECKING:
    import os

    from rayshim.plans.reporting import RecordedGraph, Report
    from rayshim.worker.context import RuntimeContext


def digest(seconds: float = 60.0) -> str:
    """A running hash of what has passed the actors and tasks of this session: the arguments and results of every call, in each actor's
    order. Waits until the calls that were made have ended, for `seconds` at most. 16 hexadecimal digits, the same for two runs in which the same passed, in whatever placement.

    Errors count as such, whatever they say; calls of threaded and async actors, and what a generator yields, do not count. Sets of
    strings have another order in each interpreter unless PYTHONHASHSEED is set. RuntimeError without a session or with
    `init(digest=False)`.
    """
    s = session.current
    if s is None or not s.settings["digest"]:
        found = (
            "no session is running. Call it between init() and shutdown()"
            if s is None
            else "init(digest=False) turned it off. Leave that out"
        )
        raise RuntimeError(f"{at('digest')}: {found}")
    import time

    until, quiet = time.monotonic() + seconds, 0
    while quiet < 2 and time.monotonic() < until:
        quiet = quiet + 1 if _core.all_sleep() else 0
        time.sleep(0.001)
    return f"{_core.digest():016x}"


def get_runtime_context() -> RuntimeContext:
    """The RuntimeContext of the caller: who and where it is."""
    from rayshim.worker.context import RuntimeContext

    session.ensure()
    return RuntimeContext()


def get_gpu_ids() -> list[int] | list[str]:
    """Ids of the GPUs that this worker may use; strings where CUDA_VISIBLE_DEVICES names the machine's, else ints."""
    from rayshim.worker.context import gpu_ids

    return gpu_ids()


def report() -> Report:
    """What was recorded and replayed so far, in all processes: a Report, which prints itself as a table and has `to_dict()`.
    RuntimeError without a session."""
    from rayshim.plans import recorder

    return recorder.report(_session())


def graph() -> RecordedGraph:
    """The recorded graph of the program so far, a RecordedGraph: `text()`, `mermaid()`, `dot()`, `html(path)`. RuntimeError
    without a session, or if nothing was recorded (`replay_plans=False`)."""
    from rayshim.plans import recorder

    return recorder.graph(_session())


def timeline(filename: str | os.PathLike[str] | None = None) -> list[dict[str, Any]] | None:
    """Calls and waits since the start as events for Perfetto or chrome://tracing: a list of dicts, or, with `filename`, written
    there as JSON. RuntimeError unless the session was started with `init(trace=True)` or `python -m rayshim --trace`."""
    from rayshim.plans import tracing

    return tracing.timeline(_session(), filename)


def _session() -> session.Session:
    if session.current is None:
        raise RuntimeError(f"there is no session: call init() first, and this before shutdown() (at {calling()})")
    return session.current
