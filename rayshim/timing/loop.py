"""asyncio in timed order, in the driver, in tasks and in actors that are not async: what their event loops wait for are events of the order.

Such a loop runs in one thread, and all that it waits for, refs and timers, it waits for where nothing is left to run: in its selector. There, to wait is one operation of the thread, like
`ray.wait` with a timeout. What other threads, descriptors and signals tell it comes when the machine says so. The loop of an async actor is another
one: see rayshim/worker/timed_loop.py.
"""

# pyright: reportAttributeAccessIssue=false
# (asyncio's own attributes)

import asyncio
import sys
import threading
import time
from asyncio import events, unix_events

from reactor import _core

from rayshim.session import futures, physical, session

_LONGEST_RUN = (
    100  # so many times in a row the loop goes on without a look at the refs, while there is something to run
)
_policy = getattr(unix_events, "_UnixDefaultEventLoopPolicy", None)  # none from Python 3.16 on
_undo = []
_base = 0  # ns of the monotonic clock when the run began


class _Selector:
    """A selector that waits for the loop's refs and timers, if it has no descriptors but that by which other threads wake it."""

    def __init__(self, machine):
        self._machine = machine  # the selector of the machine's events
        self._waits = []  # (refs, Future, function that settles the Future when the first of the refs is done)
        self._wake = None  # (ref, offset, note) of a ref that is fulfilled to end a wait
        self._lock = threading.RLock()  # a signal's handler may come while it is held
        self._sleeps = False
        self._epoch = _core.epoch()  # of the session that the above belong to
        self._run = 0

    def __getattr__(self, name):
        return getattr(self._machine, name)

    def is_ordered(self):
        """Whether what the loop waits for has an order: not if it serves sockets or pipes, too."""
        return len(self._machine.get_map()) == 1 and _core.timed_here()

    def take(self, refs, future, settle):
        """Has `settle(refs, future)` called when the first of the refs is done."""
        self._waits.append((refs, future, settle))

    def wake(self):
        """Ends the wait. Called in any thread, and in handlers of signals."""
        with self._lock:
            wake = self._wake if self._sleeps else None
            if wake:
                self._wake = None
        if wake:
            _core.fulfil(*wake[1:], None)

    def select(self, timeout=None):
        self._waits = [wait for wait in self._waits if not wait[1].cancelled()]
        if not self.is_ordered() or self._epoch != _core.epoch():
            self._wake, self._epoch = None, _core.epoch()
            for wait in self._waits:
                futures.watch_for(*wait)
            self._waits = []
            return self._machine.select(timeout)
        self._run = self._run + 1 if timeout == 0 else 0
        if timeout == 0 and self._run < _LONGEST_RUN:
            return self._machine.select(0)
        self._run = 0
        if timeout != 0 or self._waits:
            self._wait(timeout)
        return self._machine.select(0)

    def _wait(self, timeout):
        """Waits until a ref is done, for `timeout` seconds at most, and settles the Futures of those that are done."""
        with self._lock:
            self._wake = self._wake or _core.promise()
            refs = list({self._wake[0]: None} | {refs[0]: None for refs, *_ in self._waits})
            self._sleeps = True
        try:
            events = self._machine.select(0)  # another thread may have written before there was a ref to fulfil
            done = _core.timed_wait_any(refs, 0 if events else timeout)
        finally:
            self._sleeps = False
        there = {refs[k] for k in done or ()}
        waits, self._waits = self._waits, []
        for wait in waits:
            if wait[0][0] in there:
                wait[2](*wait[:2])
            else:
                self._waits.append(wait)


class _Numbered:
    """The order of a set of them, which `asyncio.wait` gives, is the same in each run."""

    _hash = 0

    def __hash__(self):
        return self._hash


class _Task(_Numbered, asyncio.Task):
    pass


class _Future(_Numbered, asyncio.Future):
    pass


class NumberedLoop(asyncio.SelectorEventLoop):
    """An event loop whose tasks and futures have hashes by their number."""

    _count = 0

    def __init__(self, selector=None):
        super().__init__(selector)
        self.set_task_factory(self._task)  # pyright: ignore[reportArgumentType]

    @staticmethod
    def _task(loop, coroutine, **options):
        return loop._numbered(_Task(coroutine, loop=loop, **options))

    def create_future(self):
        return self._numbered(_Future(loop=self))

    def _numbered(self, future):
        self._count += 1
        future._hash = self._count
        return future


class OrderedLoop(NumberedLoop):
    """An event loop whose time, in a thread whose operations are ordered, is that of the order: seconds since the run began. To read it is an operation."""

    _last = _offset = 0.0  # what it has shown, and what is added to the time of the order

    def __init__(self):
        super().__init__()
        self._selector = _Selector(self._selector)

    @classmethod
    def adopt(cls, loop):
        """Makes one of a running loop of asyncio's own; what it has begun to wait for comes when the machine says so."""
        if type(loop) is asyncio.SelectorEventLoop:
            before = loop.time()
            loop.__class__ = cls
            loop._selector = _Selector(loop._selector)
            loop.set_task_factory(cls._task)
            for handle in loop._scheduled:
                handle._when += loop.time() - before

    def time(self):
        now = _core.timed_clock() if _core.timed_here() else None
        now = (time.monotonic_ns() - _base if now is None else now) * 1e-9 + self._offset
        if now < self._last:  # another session has begun
            self._offset += self._last - now
            now = self._last
        self._last = now
        return now

    def call_soon_threadsafe(self, callback, *args, context=None):
        handle = super().call_soon_threadsafe(callback, *args, context=context)
        if self._thread_id not in (None, threading.get_ident()) and session.current is not None:
            physical.count("another thread called the event loop", sys._getframe(1))
        self._selector.wake()
        return handle

    def add_signal_handler(self, sig, callback, *args):
        import signal

        super().add_signal_handler(sig, callback, *args)
        signal.signal(sig, lambda *_: self._selector.wake())


def take(refs, future, settle):
    """In the thread of an ordered loop: has `settle(refs, future)` called there when the first ref is done. False: somebody else has to see to that."""
    loop = events._get_running_loop()
    if not isinstance(loop, OrderedLoop) or not loop._selector.is_ordered():
        return False
    loop._selector.take(refs, future, settle)
    return True


def begin():
    """In each process of a run of timed order: loops that are made from now on are ordered, and the one that runs here."""
    global _base
    _base = _core.timed_base()
    if not _undo:
        owner, name = (_policy, "_loop_factory") if _policy else (events, "new_event_loop")
        _undo.append((owner, name, owner.__dict__[name]))
        setattr(owner, name, OrderedLoop)
    session.timed_loop = take
    if loop := events._get_running_loop():
        OrderedLoop.adopt(loop)


def end():
    """Loops are asyncio's own again."""
    session.timed_loop = None
    while _undo:
        setattr(*_undo.pop())
