"""The state of this process's session: made by `init` in the driver, and at the start of a worker."""

from __future__ import annotations

import atexit
import functools
import itertools
import os
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

from reactor import _core
from reactor.runtime.processes import forks

from rayshim.errors import forked
from rayshim.errors.exceptions import RaySystemError
from rayshim.errors.user_code import calling, qualified
from rayshim.session import ids, out_of_band

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")

after_begin = []  # functions without arguments, called when this process has started a session
before_end = []  # functions without arguments, called before the driver's session ends
current: Session | None = None  # None before init and after shutdown
start = stop = (
    None  # rayshim.api.start sets them: `init`, for a program that uses rayshim without calling it, and `shutdown`
)

warn_on_blocking_get = (
    False  # an async actor has this process, and has had no warning yet that a `get` blocks its event loop
)
timed_loop = None  # in timed order: rayshim.timing.loop.take; in an async actor rayshim.worker.concurrency.awaits
owes_time = False  # a `wait` was blocked because of order, and it is not known yet what that delays (rayshim/ordering/delays.py)
_changing = threading.RLock()  # held by the thread that starts or ends the session
_change = None  # what that thread does: "init" or "shutdown"
_exiting = False  # the program has ended: only exit functions of the main thread may start a session


_EXPORTS = 256  # most exports of one function, with different options
_LARGEST_EXPORT = 95 << 20  # bytes of a function or class; Ray's FUNCTION_SIZE_ERROR_THRESHOLD


def _unpicklable(what, error):
    from reactor import codec
    from reactor.picklability import NotPicklable, reason_of

    from rayshim.errors.unpicklable import serialization_error

    if isinstance(error, NotPicklable) and error.__cause__ is not None:
        error.reason = reason_of(what, error.__cause__, codec.pickled)  # its value has parts of ours, too
    return serialization_error(
        error, f"the {'actor class' if isinstance(what, type) else 'function'} {qualified(what)}", f"at {calling()}"
    )


def _too_large(what, size):
    whom = (
        f"actor {what.__name__}" if isinstance(what, type) else f"remote function {what.__module__}.{what.__qualname__}"
    )
    return ValueError(
        f"The {whom} is too large ({size >> 20} MiB > FUNCTION_SIZE_ERROR_THRESHOLD={_LARGEST_EXPORT >> 20} MiB). Check that its definition is "
        "not implicitly capturing a large array or other object in scope. Tip: use ray.put() to put large objects in the Ray object store."
    )


class Session:
    """The state of a session in one process.

    Attributes:
        driver: reactor's Driver; None in a worker.
        placement: rayshim.placement.interface.Placement, what depends on where actors and tasks run.
        control: sends requests to the supervisor; None where there is none.
        settings: rayshim.session.settings.Settings, the same in the driver and its workers.
        gpus: [(number, share)] that this worker may use. visible_gpus: the list into which the numbers are indices, see rayshim.resources.gpus.
        visible_accelerators: such lists of other accelerators. Who begins the session in this process sets both.
        runtime_env: the runtime environment of this process, which tasks and actors that it starts inherit; in the driver that of the session.
    """

    def __init__(self, placement, driver=None, gpus=(), runtime_env=None):
        self.placement = placement
        self.control, self.settings = placement.control, placement.settings
        settings = self.settings
        self.runtime_env = settings.runtime_env if runtime_env is None else runtime_env
        self.broken: Exception | None = None  # the error when the runtime environment was applied to this process
        self.screen: Any = None  # shows the workers' output, in the driver
        self.driver, self.gpus = driver, list(gpus)
        self.visible_gpus: list[str] | None = None
        self.visible_accelerators: dict[str, list[str]] = {}
        self.exports = (
            weakref.WeakKeyDictionary()
        )  # function or class -> {what goes with it: Ref}; its code is kept no longer than it is
        self.call_options = {}  # options of calls -> Ref, the last of them
        self.exported = weakref.WeakSet()  # remote functions that have something of this session to forget at its end
        self.demands = {}
        self.actor_classes = {}  # number of each actor created here (the first thousands) -> its class's name
        self.physical = {}  # (what, file, line) -> how often, see rayshim.session.physical
        self.actor_hashes = {}  # and -> its link's tag_hash
        self.groups_made = itertools.count()  # placement groups of this process
        self.children = {}  # what makes actors here (see next_ordinal) -> how many it has made
        self.last_task = None  # the last task among those: of tasks no other is kept
        self.shares = {}  # of other accelerators than GPUs, what the running task has: {resource: [(number, share)]}
        self.group: tuple[int, Any] | None = (
            None  # in a task of a placement group: (uid of the task, whether it captures)
        )
        self.reserved = set()  # keys of what rayshim.resources.demands has reserved for its own use
        # Hex ids of placement groups of which this process knows that the session has them, removed ones included.
        self.groups = set()

    @property
    def record(self):
        """The facts of the actor that runs here, from its creator, or None."""
        return self.placement.facts(self.placement.actor_here())

    @property
    def namespace(self):
        return self.settings.namespace

    def next_ordinal(self):
        """The ordinal of the next actor that is created here, which is the same in every run of a program and in every placement. (In arrival order,
        the ordinal of an actor created by a task depends on the task's worker.)"""
        tag = _core.running_tag()
        record = self.record
        if record:
            above = f"{record['ordinal']}."
        elif tag:
            above = f"task {'.'.join(map(str, tag))}."
            if above != self.last_task:
                self.children.pop(self.last_task, None)
                self.last_task = above
        else:
            job = self.settings.job
            whose = f"driver {job}." if job else ""
            above = whose if self.driver is not None else f"{whose}task worker {_core.slot()}."
        n = self.children[above] = self.children.get(above, -1) + 1
        return f"{above}{n}"

    def export(self, what, make, key=()):
        """The ref of `make()` in the store. It is stored at the first export of the function or class `what` with `key` (hashable)."""
        exports = self.exports.setdefault(what, {})
        ref = exports.get(key)
        if ref is None:
            try:
                with out_of_band.of_code():
                    ref = _core.put_code(make())
            except TypeError as error:
                raise _unpicklable(what, error) from error
            size = _core.Ref.size.__get__(ref)  # ObjectRef.size is Ray's, the length of an id
            if size > _LARGEST_EXPORT:
                raise _too_large(what, size)
            _keep(exports, key, ref)
        return ref

    def export_options(self, options):
        """The ref of a call's options, ((name, value), ...)."""
        ref = self.call_options.get(options)
        if ref is None:
            ref = _core.put_code((None, None, dict(options)))
            _keep(self.call_options, options, ref)
        return ref

    def imported(self, what, ref, key=()):
        """Registers that the function or class `what` came from `ref`, so that calls from this process need no export."""
        self.exports.setdefault(what, {}).setdefault(key, ref)

    def exported_as(self, what):
        """The ref of the export of the function or class `what`, or None.

        As on Ray, what has been called stays what it was then, also where it is passed on: a value that is sent has this ref in its place. What
        the program pickles itself has not, as it may be read in another session.
        """
        return self.exports.get(what, {}).get(()) if _core.inside() else None


def _keep(exports, key, ref):
    """Stores an export, and drops the oldest one if there are too many, because a program may give each call another name. What the code itself
    was exported as, key (), stays."""
    if len(exports) >= _EXPORTS:
        del exports[next(key for key in exports if key != ())]
    exports[key] = ref


def ensure() -> Session:
    """The session; starts one with the defaults if there is none, as Ray does on first use. Several threads at once start one session."""
    session = current
    if session is None:
        if _core.inside():  # pickling an argument, for instance; who ends the session waits for this thread
            refuse_ended()
        with _changing:
            session = current
            if session is None:
                session = _start_default()
    return session  # pyright: ignore[reportReturnType]


def ensure_own(what: str, error: type[Exception] = ValueError) -> Session:
    """`ensure()` for a function that takes refs, handles or names. In a process that was forked from one with a session they are of that session,
    and a new one would not know them: raises `error`. `what`: the call, with its place."""
    if current is None and forked.happened:
        raise error(forked.text(f"{what}: what it was given"))
    return ensure()


_SHUT_DOWN = "the session was shut down while this thread was using it. Join the thread before shutdown()"


def check_current(session: Session) -> None:
    """RuntimeError if `session` has ended, because another thread has called `shutdown`."""
    if current is not session:
        refuse_ended()


def refuse_ended() -> NoReturn:
    """Raises RuntimeError: another thread has ended the session."""
    raise RuntimeError(_SHUT_DOWN)


def _start_default():
    if os.environ.get("RAY_ENABLE_AUTO_CONNECT") == "0":
        raise RaySystemError(
            "Ray has not been started yet. You can start Ray with 'ray.init()'. (RAY_ENABLE_AUTO_CONNECT=0 turns the automatic start off)"
        )
    if forked.happened:
        from rayshim.errors import logs

        logs.logger.warning(
            "This process was forked after init(), and now starts a session of its own beside that of its parent. %s",
            forked.remedy(""),
        )
    start()
    return current


def exiting():
    """Whether the program is ending."""
    return _exiting


def in_worker():
    """Whether this process is a worker of a session: also in a thread or coroutine there in which no call runs."""
    return current is not None and current.driver is None


def changes(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator for `init` and `shutdown`: one thread at a time starts or ends the session; other threads wait."""
    name = function.__name__

    @functools.wraps(function)
    def alone(*args: P.args, **kwargs: P.kwargs) -> R:
        global _change
        with _changing:
            if _change is not None and name == "init":  # a destructor or a hook, in this same thread
                raise RuntimeError(
                    f"cannot start a session here: this code runs inside `{_change}`, which has not returned. Call init() after it"
                )
            if _exiting and name == "init" and threading.current_thread() is not threading.main_thread():
                raise RuntimeError(
                    "cannot start a session: the program is ending, and the main thread has ended. Join this thread before the main thread ends"
                )
            outer, _change = _change, name
            try:
                return function(*args, **kwargs)
            finally:
                _change = outer

    return alone


def begin(session):
    """Makes `session` the session of this process."""
    global current
    current = session
    ids.set_job(session.settings.job or 1)
    for tell in after_begin:
        tell()
    return session


def end():
    """Forgets the session in this process. The caller ends its driver and its other processes."""
    global current
    session, current = current, None
    if session is not None:
        for exported in list(session.exported):
            exported.forget()
    return session


def _forget_after_fork():
    """In a child that the program forks: forgets the session, which belongs to the parent, as its run does."""
    global current, _changing, _change
    _changing, _change = threading.RLock(), None  # the parent's thread that holds the other is not here
    if current is None:
        return
    forgotten, current = current, None
    forked.remember(forgotten.settings.address)
    for exported in list(forgotten.exported):
        exported.forget()


def end_at_exit():
    global _exiting
    _exiting = True
    if current is not None and current.driver is not None:
        interrupted = _was_interrupted()
        try:
            stop(_exiting_interpreter=True)
        finally:
            if interrupted:
                _die_of_interrupt()


def _was_interrupted():
    """Whether the program ends because of a KeyboardInterrupt that it did not catch."""
    interactive = hasattr(sys, "ps1") or sys.flags.inspect or "IPython" in sys.modules
    return getattr(sys, "last_type", None) is KeyboardInterrupt and not interactive


def _die_of_interrupt():
    """Lets the interpreter end by SIGINT, as it does after an uncaught KeyboardInterrupt. It forgets that at the next `exec` of a text, which the making of
    a dataclass is, for instance, and remembers it when such a text raises KeyboardInterrupt."""
    try:
        exec("raise KeyboardInterrupt")
    except KeyboardInterrupt:
        pass


atexit.register(end_at_exit)
forks.in_child(_forget_after_fork)
