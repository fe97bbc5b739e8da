"""This process's part in a run: what `init` made, or what a worker was born with."""

import atexit
import os
import weakref

from reactor import _core

before_end = []  # called with no arguments before a driver's session ends
current = None  # the Session, None before init and after shutdown


class Session:
    """One run as one process sees it.

    Attributes:
        driver: reactor's Driver; None in a worker.
        control: sends requests to the supervisor; None in inline placement.
        settings: dict that every process of the run has: placement, namespace, seed, session and node names, ...
        record: in an actor's worker, what its creator told of it (dict); else None.
        gpus: [(id, share)] that this worker may use.
    """

    def __init__(self, control, settings, driver=None, record=None, gpus=()):
        self.control, self.settings, self.driver, self.record, self.gpus = control, settings, driver, record, list(gpus)
        self.exports = {}  # (function or class, flags) -> Ref
        self.exported = weakref.WeakSet()  # remote functions that have something of this session to forget at its end
        self.demands = {}
        self.made = {}  # number of each actor made here (the first thousands) -> its class's name
        self.physical_answers = 0  # questions of this process that the clock has answered: timeouts, kill, cancel
        self.children = 0  # actors created by this process
        self.inline_names = {}  # (namespace, name) -> handle, inline placement only
        self.inline_actors = {}  # number -> inline.InlineActor
        self.inline_gpus = None  # GpuShares

    @property
    def inline(self):
        return self.control is None

    @property
    def namespace(self):
        return (self.record or {}).get("namespace") or self.settings["namespace"]

    def next_ordinal(self):
        """What names the next actor created here: the same in every run of a program, in every placement."""
        self.children += 1
        above = f"{self.record['ordinal']}." if self.record else "" if self.driver is not None else f"task{_core.slot()}."
        return f"{above}{self.children - 1}"

    def export(self, what, make):
        """The ref of `make()` in the store, put there when `what` (hashable) is first exported."""
        ref = self.exports.get(what)
        if ref is None:
            ref = self.exports[what] = _core.put(make())
        return ref

    def demand(self, resources):
        """Number of the resource demand {name: amount}."""
        key = frozenset(resources.items())
        number = self.demands.get(key)
        if number is None:
            fixed = {name: round(amount * 10000) for name, amount in resources.items()}
            if not fixed or fixed == {"CPU": 10000}:
                number = 0 if fixed else 1
            else:
                number = _own_demand(fixed) if self.inline else self.control.ask("demand", fixed)
            self.demands[key] = number
        return number


def _own_demand(fixed):
    """Inline placement: this process registers demands itself."""
    for name in fixed:
        _core.register_resource(name, 0)
    index = {name: i for i, name in enumerate(_core.resources())}
    return _core.demand([(index[name], amount) for name, amount in sorted(fixed.items())])


def ensure():
    """The session; starts one with the defaults if there is none, as Ray does on first use."""
    if current is None:
        from rayshim.api import init

        init()
    return current


def begin(session):
    global current
    current = session
    return session


def end():
    """Forgets the session; what it owned outside this process is the caller's to end."""
    global current
    session, current = current, None
    if session is not None:
        for exported in list(session.exported):
            exported.forget()
    return session


def _forget_after_fork():
    """In a child that the program forks: the run is its parent's. Nothing is given back, nothing ended, and no call works."""
    global current
    if current is None:
        return
    forgotten, current = current, None
    _core.detach()
    if forgotten.driver is not None:
        forgotten.driver.forget()
    for exported in list(forgotten.exported):
        exported.forget()


def _end_at_exit():
    if current is not None and current.driver is not None:
        from rayshim.api import shutdown

        shutdown()


atexit.register(_end_at_exit)
os.register_at_fork(after_in_child=_forget_after_fork)
