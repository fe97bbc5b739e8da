"""The names that code in a Lingua Franca program can use: `lf`, `Tag`, `MSEC`, `request_stop` and so on."""

import copy
import os
import sys
import types
from typing import Any

from reactor.lf.files import package_directory
from reactor.model.elements import Port
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


class Names(types.ModuleType):
    """The module `lf` of a program. `loop` is what executes it."""

    Tag = Tag

    def __init__(self, file):
        super().__init__("lf")
        self._file = file
        self.tracing = bool(file.properties.get("tracing"))
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


class Channel(Port):
    """A port that is not a multiport, or a channel of one, as the code of a program sees it: its width is -2, as in `lfc`."""

    __slots__ = ()
    width = -2

    def __getitem__(self, index):
        return self


class TraceEvent(int):
    """The handle of an event of the user's own: its number in the reactor that registered it, and its name."""

    name: str

    def __new__(cls, number, name):
        event = super().__new__(cls, number)
        event.name = name
        return event

    def __getnewargs__(self):
        return int(self), self.name


class LFReactor:
    """Base class of the `self` of a program's reactors. Names of its own begin with __, as no name of a program does."""

    __lf__: Names
    __path__: str
    __scope__: dict[str, Any]  # the namespace of its code
    __parameters__: frozenset[str] = frozenset()
    __initializers__: dict[str, Any]  # {state variable: what makes its value}, before the program runs
    __events__: int = 0  # how many it has registered for the trace
    __deadline__: tuple[Any, Any] | None = None  # (Handler, what runs it) of the reaction that runs

    def __getattr__(self, name: str) -> Any:
        make = vars(self).get("__initializers__", {}).pop(name, None)
        if make is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = vars(self)[name] = make()
        return value

    def check_deadline(self, invoke_handler=True):
        if self.__deadline__ is None:
            return False
        deadline, handle = self.__deadline__
        loop = self.__lf__.loop
        missed = loop.physical() > loop.time + deadline.limit
        if missed and invoke_handler:
            handle()
        return missed

    def update_deadline(self, limit):
        if limit < 0:
            raise ValueError(f"update_deadline({limit}): a deadline is 0 or more")
        if self.__deadline__ is not None:
            deadline, _ = self.__deadline__
            deadline.limit = int(limit)
            self.__lf__.loop.deadline_changed(deadline)

    def register_user_trace_event(self, name):
        """A handle for an event of the user's own in the trace; 0 if the program does not have the target property `tracing`."""
        if not self.__lf__.tracing:
            return 0
        self.__events__ += 1
        return TraceEvent(self.__events__, f"{self.__path__}: {name}")

    def tracepoint_user_event(self, handle):
        self.tracepoint_user_value(handle, None)

    def tracepoint_user_value(self, handle, value):
        trace = self.__lf__.loop.trace
        if trace and handle:
            trace.note(handle.name, value)
