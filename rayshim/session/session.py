"""This process's part in a run: what `init` made, or what a worker was born with."""

from __future__ import annotations

import atexit
import functools
import os
import threading
import weakref
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from reactor import _core

from rayshim.errors.exceptions import RaySystemError
from rayshim.errors.sites import qualified
from rayshim.session.environment import frozen
from rayshim.session.gpus import visible

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")

after_begin = []  # called with no arguments when this process has begun a session
before_end = []  # called with no arguments before a driver's session ends
current: Session | None = None  # None before init and after shutdown
start = stop = (
    None  # rayshim.api.start sets them: `init`, for a program that uses the session without having started it, and `shutdown`
)

_changing = threading.RLock()  # held by the thread that begins or ends the session
_change = None  # what that thread does: "init" or "shutdown"
_exiting = False  # the program has ended: its sessions are for the main thread's own exit functions alone


_EXPORTS = 256  # of one function, with different options
_LARGEST_EXPORT = 95 << 20  # bytes of a function or class; Ray's FUNCTION_SIZE_ERROR_THRESHOLD


def _unpicklable(what, error):
    from rayshim.errors.unpicklable import told

    error.value = what
    return told(error, f"the {'actor class' if isinstance(what, type) else 'function'} {qualified(what)}")


def _too_large(what, size):
    whom = (
        f"actor {what.__name__}" if isinstance(what, type) else f"remote function {what.__module__}.{what.__qualname__}"
    )
    return ValueError(
        f"The {whom} is too large ({size >> 20} MiB > FUNCTION_SIZE_ERROR_THRESHOLD={_LARGEST_EXPORT >> 20} MiB). Check that its definition is "
        "not implicitly capturing a large array or other object in scope. Tip: use ray.put() to put large objects in the Ray object store."
    )


class Session:
    """One run as one process sees it.

    Attributes:
        driver: reactor's Driver; None in a worker.
        control: sends requests to the supervisor; None in inline placement.
        settings: dict that every process of the run has: placement, namespace, seed, session and node names, ...
        gpus: [(number, share)] that this worker may use; gpus_told: the list that the numbers are places in, see rayshim.session.gpus.
        runtime_env: what this process was born with, and what it starts is born with too; in the driver the session's.
    """

    def __init__(self, control, settings, driver=None, record=None, gpus=(), runtime_env=None):
        self.runtime_env = settings["runtime_env"] if runtime_env is None else runtime_env
        self.broken: BaseException | None = None  # what went wrong when this process was given its runtime environment
        self.screen: Any = None  # shows the workers' output, in the driver
        self.control, self.settings, self.driver, self.gpus = control, settings, driver, list(gpus)
        self.gpus_told = visible()
        self._record = record or None
        self.hosted = {} if record == {} else None  # in a packed worker: number -> rayshim.placement.packing.Hosted
        self.exports = (
            weakref.WeakKeyDictionary()
        )  # function or class -> {what goes with it: Ref}; its code is kept no longer than it is
        self.call_options = {}  # options of calls -> Ref, the last of them
        self.exported = weakref.WeakSet()  # remote functions that have something of this session to forget at its end
        self.demands = {}
        self.made = {}  # number of each actor made here (the first thousands) -> its class's name
        self.children = {}  # what makes actors here (see next_ordinal) -> how many it has made
        self.last_task = None  # the last task among those: of tasks no other is kept
        self.inline_names = {}  # (namespace, name) -> handle, inline placement only
        self.inline_actors = {}  # number -> rayshim.placement.inline.InlineActor
        self.inline_gpus: Any = None  # GpuShares
        self.states: Any = None  # reactor's ActorStates, where several actors share this process
        self.group: Any = None  # in a task of a placement group: (uid of the task, whether it captures)
        self.reserved = set()  # keys of what rayshim.placement.demands has reserved for its own use
        self._reservations = None
        self.posted = {}  # inline placement: what elsewhere lies with the supervisor for all to read, tuple -> value

    @property
    def inline(self):
        return self.control is None

    @property
    def record(self):
        """In an actor's worker, what its creator told of it; in a packed worker, of the actor that runs."""
        if self.hosted is None:
            return self._record
        made = self.hosted.get(_core.running()[1])
        return made and made.facts

    @property
    def namespace(self):
        return (self.record or {}).get("namespace") or self.settings["namespace"]

    def next_ordinal(self):
        """What names the next actor created here: the same in every run of a program, in every placement (by arrival, an actor that a task
        makes is named after its worker)."""
        _, number = _core.running()
        tag = _core.running_tag()
        record = self.inline_actors[number].facts if number in self.inline_actors else self.record
        if record:
            above = f"{record['ordinal']}."
        elif tag:
            above = f"task {'.'.join(map(str, tag))}."
            if above != self.last_task:
                self.children.pop(self.last_task, None)
                self.last_task = above
        else:
            above = "" if self.driver is not None else f"task worker {_core.slot()}."
        n = self.children[above] = self.children.get(above, -1) + 1
        return f"{above}{n}"

    def export(self, what, make, key=()):
        """The ref of `make()` in the store, put there when the function or class `what` is first exported with `key` (hashable)."""
        exports = self.exports.setdefault(what, {})
        ref = exports.get(key)
        if ref is None:
            try:
                ref = _core.put_code(make())
            except TypeError as error:
                raise _unpicklable(what, error) from error
            size = _core.Ref.size.__get__(ref)  # ObjectRef.size is Ray's, the length of an id
            if size > _LARGEST_EXPORT:
                raise _too_large(what, size)
            _keep(exports, key, ref)
        return ref

    def export_options(self, options):
        """The ref of what a call asks for around its method, ((name, value), ...)."""
        ref = self.call_options.get(options)
        if ref is None:
            ref = _core.put_code((None, dict(options)))
            _keep(self.call_options, options, ref)
        return ref

    def imported(self, what, ref, key=()):
        """The function or class `what` came from `ref`: who calls it here needs no export of its own."""
        self.exports.setdefault(what, {}).setdefault(key, ref)

    def setting(self, env, gpus):
        """What names the task workers for tasks with this runtime environment: None, or something hashable. As in Ray,
        tasks that use a GPU do not share a process with those that do not."""
        if self.inline:
            return None
        if env == self.settings["runtime_env"]:
            env = None
        else:
            env = frozen(env)
        return (env, bool(gpus)) if env is not None or gpus else None

    def demand(self, resources, within=None, setting=None, whose="a task"):
        """Number of the resource demand {name: amount} of tasks whose workers are of this `setting`; `within`: key of the placement
        group that offers them, or None; `whose`: the task, for the warning that there is too little."""
        key = (within, frozenset(resources.items()), setting)
        number = self.demands.get(key)
        if number is None:
            fixed = {name: round(amount * _core.UNIT) for name, amount in resources.items()}
            if within is None and setting is None and (not fixed or fixed == {"CPU": _core.UNIT}):
                number = 0 if fixed else 1
            elif not self.inline:
                number = self.control.ask("demand", whose, fixed, within, setting)
            elif within is not None:
                number = self.reservations.demand_within(within, fixed)
            else:
                number = _own_demand(fixed)
            self.demands[key] = number
        return number

    @property
    def reservations(self):
        """Inline placement: what placement groups hold; elsewhere the supervisor has it."""
        if self._reservations is None:
            from reactor.runtime.reservations import Reservations

            self._reservations = Reservations(_own_demand, _core.reply)
        return self._reservations


def _keep(exports, key, ref):
    """A program may name each call differently: only the last exports are kept."""
    if len(exports) >= _EXPORTS:
        del exports[next(iter(exports))]
    exports[key] = ref


def _own_demand(fixed):
    """Inline placement: this process registers demands itself."""
    return _core.demand([(_core.register_resource(name, 0), amount) for name, amount in sorted(fixed.items())])


def ensure() -> Session:
    """The session; starts one with the defaults if there is none, as Ray does on first use. Threads that come at once start one."""
    session = current
    if session is None:
        if _core.inside():  # pickling an argument, for instance; who ends the session waits for this thread
            raise RuntimeError(
                "the session was shut down while this thread was using it. Join the thread before shutdown()"
            )
        with _changing:
            session = current
            if session is None:
                session = _start_default()
    return session  # pyright: ignore[reportReturnType]


def _start_default():
    if os.environ.get("RAY_ENABLE_AUTO_CONNECT") == "0":
        raise RaySystemError(
            "Ray has not been started yet. You can start Ray with 'ray.init()'. (RAY_ENABLE_AUTO_CONNECT=0 forbids that it starts by itself)"
        )
    start()
    return current


def changes(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator for `init` and `shutdown`: one thread at a time begins or ends the session; another one waits for it."""
    name = function.__name__

    @functools.wraps(function)
    def alone(*args: P.args, **kwargs: P.kwargs) -> R:
        global _change
        with _changing:
            if _change is not None and name == "init":  # a destructor or a hook, in this same thread
                raise RuntimeError(
                    f"no session can be started here: this code is run by `{_change}`, which has not ended. Call init() after it"
                )
            if _exiting and name == "init" and threading.current_thread() is not threading.main_thread():
                raise RuntimeError(
                    "no session can be started: the program is ending, and this thread still runs. Join the thread before the main thread ends"
                )
            outer, _change = _change, name
            try:
                return function(*args, **kwargs)
            finally:
                _change = outer

    return alone


def begin(session):
    global current
    current = session
    for tell in after_begin:
        tell()
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
    global current, _changing, _change
    _changing, _change = threading.RLock(), None  # the parent's thread that holds the other is not here
    if current is None:
        return
    forgotten, current = current, None
    _core.detach()
    if forgotten.driver is not None:
        forgotten.driver.forget()
    for exported in list(forgotten.exported):
        exported.forget()


def _end_at_exit():
    global _exiting
    _exiting = True
    if current is not None and current.driver is not None:
        stop(_exiting_interpreter=True)


atexit.register(_end_at_exit)
os.register_at_fork(after_in_child=_forget_after_fork)
