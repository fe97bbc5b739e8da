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
        federate = self.loop.federate
        return (federate and federate.start) or Tag(self.loop.start, 0)

    @staticmethod
    def tag_compare(one, other):
        return (tuple(one) > tuple(other)) - (tuple(one) < tuple(other))

    def request_stop(self):
        self.loop.request_stop()

    def stop(self):
        self.loop.stop()

    @staticmethod
    def check_deadline(reactor, invoke_handler=True):
        """Whether the reaction that runs has missed its deadline by now; if so, its handler runs."""
        return reactor.check_deadline(invoke_handler)

    @staticmethod
    def update_deadline(reactor, limit):
        """Gives the reaction that runs another deadline, for later times too."""
        reactor.update_deadline(limit)

    @staticmethod
    def register_user_trace_event(reactor, name):
        return reactor.register_user_trace_event(name)

    @staticmethod
    def tracepoint_user_event(reactor, handle):
        reactor.tracepoint_user_event(handle)

    @staticmethod
    def tracepoint_user_value(reactor, handle, value):
        reactor.tracepoint_user_value(handle, value)

    def _federate(self, name):
        federate = self.loop.federate
        if federate is None or federate.maxwait is None:
            raise RuntimeError(f"{name} is for federates with `coordination: decentralized`: this is none")
        return federate

    def get_fed_maxwait(self):
        return self._federate("get_fed_maxwait").maxwait

    def set_fed_maxwait(self, wait):
        if wait < 0:
            raise ValueError(f"set_fed_maxwait({wait}): a time to wait is 0 or more")
        federate = self._federate("set_fed_maxwait")
        federate.maxwait = int(wait)
        self.loop.maxwait_changed(federate)

    def source_directory(self):
        return os.path.dirname(self._file.path)

    def package_directory(self):
        return package_directory(self._file.path)

    def get_federation_id(self):
        return self.loop.federation


def namespace(file):
    """(the module that a program's code runs in, its Names)"""
    lf = Names(file)
    module = types.ModuleType(os.path.splitext(os.path.basename(file.path))[0])
    module.__dict__.update(
        {name: (lambda value, factor=UNITS[unit]: int(value * factor)) for name, unit in _FACTORS.items()},
        lf=lf, sys=sys, os=os, copy=copy, Tag=Tag, FOREVER=FOREVER, NEVER=NEVER, BILLION=10**9, exit=sys.exit,
        request_stop=lf.request_stop, get_fed_maxwait=lf.get_fed_maxwait, set_fed_maxwait=lf.set_fed_maxwait,
        instant_t=int, interval_t=int, ReactorBase=LFReactor, __file__=file.path,
    )  # fmt: skip
    return module, lf


class LFReactor:
    """Base class of the `self` of a program's reactors."""

    _events: tuple[str, ...] = ()
    _lf: Names
    _path: str
    _scope: dict[str, Any]  # the namespace of its code
    _deadline: tuple[Any, Any] | None = None  # (Handler, what runs it) of the reaction that runs

    def check_deadline(self, invoke_handler=True):
        if self._deadline is None:
            return False
        deadline, handle = self._deadline
        loop = self._lf.loop
        missed = loop.physical() > loop.time + deadline.limit
        if missed and invoke_handler:
            handle()
        return missed

    def update_deadline(self, limit):
        if limit < 0:
            raise ValueError(f"update_deadline({limit}): a deadline is 0 or more")
        if self._deadline is not None:
            deadline, _ = self._deadline
            deadline.limit = int(limit)
            self._lf.loop.deadline_changed(deadline)

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
