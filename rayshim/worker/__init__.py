"""The worker's side: creation of actors, running of calls, concurrency, context, environment, and errors on their way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# A program that says `ray.worker.global_worker` means `ray._private.worker`, whose former name it is. `shown` gives it these names; `rayshim` sets it.
# They stand here, and are not taken from that module: Python asks `__getattr__` for each module in `from rayshim.worker import module`, too.
_SHOWN = frozenset(
    (
        "LOCAL_MODE",
        "SCRIPT_MODE",
        "WORKER_MODE",
        "Worker",
        "cancel",
        "get",
        "get_actor",
        "get_gpu_ids",
        "global_worker",
        "init",
        "is_initialized",
        "kill",
        "put",
        "remote",
        "shutdown",
        "wait",
    )
)
shown: Callable[[str], Any] | None = None


def __getattr__(name: str) -> Any:
    if shown is None or name not in _SHOWN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return shown(name)
