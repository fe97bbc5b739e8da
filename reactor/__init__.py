"""Deterministic reactors on one machine, and the multi-process runtime below: processes, channels, objects, task queues."""

from reactor import idle_threads

idle_threads.let_sleep()

_NAMES = {
    "reactor.model.declaring": ("Action", "Input", "Mode", "Output", "PhysicalAction", "Reactor", "Timer", "reaction"),
    "reactor.model.elements": ("RESET", "SHUTDOWN", "STARTUP"),
    "reactor.model.time": ("FOREVER", "Tag", "minutes", "msec", "nsec", "sec", "usec"),
    "reactor.model.levels": ("CausalityError", "GraphError"),
    "reactor.execution.errors": ("ReactionError",),
    "reactor.program": ("Program", "run"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "FOREVER", "RESET", "SHUTDOWN", "STARTUP", "Action", "CausalityError", "GraphError", "Input", "Mode", "Output",
    "PhysicalAction", "Program", "ReactionError", "Reactor", "Tag", "Timer", "minutes", "msec", "nsec", "reaction", "run", "sec", "usec",
]  # fmt: skip


def __getattr__(name):
    """Imports a public name when it is first used: who needs only the runtime does not pay for the library. `from reactor import _core` comes here, too,
    before Python looks for that module: where it is missing, the error says what to do."""
    if name == "_core":
        return _load_core()
    if name not in _HOMES:
        raise AttributeError(f"module 'reactor' has no attribute {name!r}")
    import importlib

    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value


def _load_core():
    import importlib

    try:
        return importlib.import_module("reactor._core")
    except ModuleNotFoundError as error:
        if error.name != "reactor._core":
            raise
    from reactor import unbuilt

    return unbuilt.refuse()
