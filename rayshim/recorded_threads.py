"""What a threaded actor's threads wait in, in a run that is recorded or done again: locks, sleeps, calls that come. See rayshim.recorded_turns."""

import _thread
import concurrent.futures
import functools
import gc
import os
import queue
import selectors
import subprocess
import threading
import time
import weakref
from _thread import allocate_lock
from collections import deque

from reactor import _core

from rayshim import awaiting, concurrency, record_format, recorded_turns  # noqa: F401  the runtime's own locks are made before `know_locks`

_CANCEL_SECONDS = 0.1  # who waits for the reader of a stream looks so often whether it was cancelled
_sleep, _monotonic = time.sleep, time.monotonic
_here = None  # the RecordedTurns of this process


class RecordedThreads(concurrency.Threads):
    """Threads that take turns, in a run that is recorded or done again. Calls and cancellations come in where a turn ends."""

    _calls = 0  # of all groups

    def __init__(self, turns, limit):
        super().__init__(limit)
        self._turns, self._slot = turns, Slot

    def submit(self, call):
        call.tag, call.number = _core.running_tag(), RecordedThreads._calls
        call.cancelled = False
        RecordedThreads._calls += 1
        self._turns.come(("call", call.number), lambda: super(RecordedThreads, self).submit(call) or True)

    def _start(self, call):
        serve, _ = self._turns.member(self._serve)
        threading.Thread(target=serve, args=(call,), name="actor", daemon=True).start()

    def cancel(self, call):
        def let_in():
            call.cancelled = True
            if call in self._waiting:
                self._waiting.remove(call)
                self._turns.was_interrupted(call.tag, lambda: True)
                call.value(None)
            return True

        self._turns.come(("cancel", call.number), let_in)

    def _run(self, call):
        super()._run(call)
        self._turns.pause()

    def _value(self, call):
        if call.cancelled:
            return None
        if not call.completion.streaming:
            return call.method(*call.args, **call.kwargs)
        values = call.values()
        if not hasattr(values, "__next__"):
            raise ValueError(f'a call with num_returns="streaming" must return a generator, not {type(values).__name__}. Write the method with `yield`, or leave num_returns out')
        self._turns.physically(lambda: _let_on(call.completion))
        for value in values:
            ticket = call.completion.item(value)
            if self._turns.physically(lambda: _taken(call.completion, ticket)):
                raise KeyboardInterrupt
        return None

    def _interrupted(self, call):
        interrupted = self._turns.was_interrupted(call.tag, lambda: call.completion.unwanted) and not call.completion.streaming
        if interrupted:
            call.value(None)
        return interrupted


def _taken(completion, ticket):
    """Waits until one more value of a stream may be made; gives whether nobody wants it."""
    while ticket is not None and not ticket.done() and not completion.unwanted:
        _core.wait([ticket], 1, _CANCEL_SECONDS)
    return _let_on(completion)


def _let_on(completion):
    while not completion.unwanted and (unread := completion.let_on()) is not None:
        _core.wait(unread, 1, _CANCEL_SECONDS) if unread else time.sleep(0.001)
    return bool(completion.unwanted)


class Lock:
    """`threading.Lock` among threads that take turns; among others it is an ordinary one."""

    __slots__ = ("_lock", "_waiting", "__weakref__")

    def __init__(self):
        self._lock, self._waiting = allocate_lock(), deque()

    def acquire(self, blocking=True, timeout=-1):
        hand = None if _here is None else _here.hand()
        if hand is None or not blocking or (timeout != -1 and not 0 < timeout <= threading.TIMEOUT_MAX):
            return self._lock.acquire(blocking, timeout)
        if self._lock.acquire(False):
            return True
        until = None if timeout == -1 else _monotonic() + timeout
        while True:
            self._waiting.append(hand)
            if self._lock.acquire(False):  # one that takes no turns has released it just now
                self._wait_no_more(hand)
                return True
            woken = _here.block(until)
            self._wait_no_more(hand)
            if self._lock.acquire(False):
                return True
            if not woken and until is not None:
                return False

    def release(self):
        if _here is not None:
            _here.hand()
        self._lock.release()
        try:
            hand = self._waiting.popleft()
        except IndexError:
            return
        _here.wake(hand)

    def _wait_no_more(self, hand):
        try:
            self._waiting.remove(hand)
        except ValueError:
            pass  # it was woken

    def locked(self):
        return self._lock.locked()

    __enter__ = acquire_lock = acquire
    release_lock, locked_lock = release, locked

    def __reduce__(self):
        raise TypeError("cannot pickle '_thread.lock' object")

    def __exit__(self, *error):
        self.release()

    def _at_fork_reinit(self):
        self._lock._at_fork_reinit()
        self._waiting.clear()


class Slot:
    """Where an idle thread waits for its next call."""

    def put(self, call):
        self._call = call
        _here._wake(self._hand)

    def get(self):
        self._hand = _here.hand()
        _here.block()
        return self._call


def outside(function):
    """`function()`, which waits for or asks something outside, without the turn if this thread has one."""
    return function() if _here is None else _here.outside(function)


def know_locks():
    """Before the modules of a program are imported, so that a lock which one of them makes then is known, too: of one that is not, the record can not
    tell who gets it."""
    _thread.allocate_lock = _thread.allocate = threading.Lock = threading._allocate_lock = Lock
    threading._CRLock = None  # RLock() is made of the above
    functools.RLock = threading.RLock
    _thread.LockType = Lock
    queue.SimpleQueue = queue._PySimpleQueue


def install(turns):
    """From now on what threads of this process wait in is known to `turns`; its locks were since `know_locks`."""
    global _here
    _here = turns
    hands = weakref.WeakKeyDictionary()  # Thread -> Hand

    def start(real):
        def start(function, *args, **kwargs):
            if turns.hand() is None:
                return real(function, *args, **kwargs)
            function_of_thread = getattr(function, "__self__", None)
            run, hand = turns.member(function)
            try:
                made = real(run, *args, **kwargs)
            except BaseException:
                turns.forget(hand)
                raise
            if isinstance(function_of_thread, threading.Thread):
                hands[function_of_thread] = hand
            return made

        return start

    def sleep(seconds, /):
        if turns.hand() is None or not seconds >= 0:
            return _sleep(seconds)
        turns.block(_monotonic() + seconds)

    def join(thread, timeout=None):
        me, hand = turns.hand(), hands.get(thread)
        if me is not None and hand is not None and hand is not me and not hand.ended:
            hand.joining.append(me)
            if not turns.block(None if timeout is None else _monotonic() + max(0, timeout)):
                hand.joining.remove(me)
                return
        real_join(thread, timeout)

    def is_alive(thread):
        hand = hands.get(thread)
        return not hand.ended if hand is not None and turns.hand() is not None else real_is_alive(thread)

    def look(selector, timeout=None):
        if turns.hand() is None:
            return select(selector, timeout)
        turns.outside(select, selector, timeout)
        return select(selector, 0)  # what the other threads have written before this turn, not while it waited for it

    def watch_for(refs, made, settle):
        hand = turns.hand()
        if hand is None:
            return real_watch_for(refs, made, settle)
        hand.within = True  # the thread that this starts takes no turns
        real_watch_for(refs, made, turns.done(settle))
        hand.within = False

    def beside(function):
        return lambda *args, **kwargs: turns.outside(function, *args, **kwargs)

    # Sets of these, which executors and `concurrent.futures.wait` have, are in the same order in every run.
    threading.Thread.__hash__ = concurrent.futures.Future.__hash__ = lambda made: turns.number_of(made)
    real_join, threading.Thread.join = threading.Thread.join, join
    real_is_alive, threading.Thread.is_alive = threading.Thread.is_alive, is_alive
    real_watch_for, awaiting._watch_for = awaiting._watch_for, watch_for
    done, awaiting._done = awaiting._done, lambda refs: turns.hand() is None and done(refs)
    time.sleep = sleep
    time.monotonic = threading._time = queue.time = subprocess._time = turns.clock
    select, selectors.DefaultSelector.select = selectors.DefaultSelector.select, look
    for name in ("wait", "communicate"):
        setattr(subprocess.Popen, name, beside(getattr(subprocess.Popen, name)))
    for name in ("start_new_thread", "start_new", "start_joinable_thread"):
        if hasattr(_thread, name):
            setattr(_thread, name, start(getattr(_thread, name)))
    for name in ("_start_new_thread", "_start_joinable_thread"):
        if hasattr(threading, name):
            setattr(threading, name, start(getattr(threading, name)))
    for name in ("get", "get_one", "wait", "next_item"):
        setattr(_core, name, beside(getattr(_core, name)))
    os.register_at_fork(before=turns.fork, after_in_parent=lambda: turns.forked(False), after_in_child=lambda: turns.forked(True))
    gc.disable()
    watch = threading.Thread(target=turns.watch, name="watch", daemon=True)
    watch.start()
