"""The names that code in a Lingua Franca program can use: `lf`, `Tag`, `MSEC`, `request_stop` and so on."""

import copy
import os
import sys
import types
from typing import Any

from reactor.lf.files import package_directory
from reactor.model.time import FOREVER, NEVER, UNITS, Tag

_FACTORS = {
    "NSEC": "ns", "NSECS": "ns", "USEC": "us", "USECS": "us", "MSEC": "ms", "MSECS": "ms", "SEC": "s", "SECS": "s",
    "SECOND": "s", "SECONDS": "s", "MINUTE": "min", "MINUTES": "min", "HOUR": "h", "HOURS": "h", "DAY": "d", "DAYS": "d",
    "WEEK": "week", "WEEKS": "week",
}  # fmt: skip


class _Time:
    def __init__(self, owner):
        self._owner = owner

    def logical(self):
        return self._owner.loop.time

    def logical_elapsed(self):
        return self._owner.loop.time - self._owner.loop.start

    def physical(self):
        return self._owner.loop.physical()

    def physical_elapsed(self):
        return self._owner.loop.physical() - self._owner.loop.start

    def start(self):
        return self._owner.loop.start


class Names:
    """The module `lf` of a program. `loop` is what executes it."""

    def __init__(self, file):
        self._file = file
        self.loop: Any = None  # reactor.execution.loop.Loop
        self.time = _Time(self)

    def tag(self):
        return self.loop.tag()

    def tag_start_effective(self):
        return Tag(self.loop.start, 0)

    @staticmethod
    def tag_compare(one, other):
        return (tuple(one) > tuple(other)) - (tuple(one) < tuple(other))

    def request_stop(self):
        self.loop.request_stop()

    stop = request_stop

    def source_directory(self):
        return os.path.dirname(self._file.path)

    def package_directory(self):
        return package_directory(self._file.path)

    @staticmethod
    def get_federation_id():
        return f"federation-{os.getpid()}"


def namespace(file):
    """(the module that a program's code runs in, its Names)"""
    lf = Names(file)
    module = types.ModuleType(os.path.splitext(os.path.basename(file.path))[0])
    module.__dict__.update(
        {name: (lambda value, factor=UNITS[unit]: int(value * factor)) for name, unit in _FACTORS.items()},
        lf=lf, sys=sys, os=os, copy=copy, Tag=Tag, FOREVER=FOREVER, NEVER=NEVER, BILLION=10**9, exit=sys.exit,
        request_stop=lf.request_stop, __file__=file.path,
    )  # fmt: skip
    return module, lf


class LFReactor:
    """Base class of the `self` of a program's reactors."""

    _events: tuple[str, ...] = ()
    _lf: Names
    _path: str

    def register_user_trace_event(self, name):
        """A handle for an event of the user's own in the trace; never 0."""
        self._events = (*self._events, name)
        return len(self._events)

    def tracepoint_user_event(self, handle):
        self.tracepoint_user_value(handle, None)

    def tracepoint_user_value(self, handle, value):
        trace = self._lf.loop.trace
        if trace:
            trace.note(
                f"{self._path}: {self._events[handle - 1] if 0 < handle <= len(self._events) else handle}", value
            )
