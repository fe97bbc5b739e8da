"""What a threaded actor's threads wait in, in a run that is recorded or done again: locks, sleeps, calls that come. See rayshim.recorded_turns."""

import _thread
import concurrent.futures
import os
import queue
import threading
import time
from _thread import allocate_lock
from collections import deque

from reactor import _core

from rayshim import concurrency

_CANCEL_SECONDS = 0.1  # who waits for the reader of a stream looks so often whether it was cancelled
_sleep = time.sleep
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
        concurrency.running.set(call)
        try:
            while True:
                try:
                    value = self._value(call)
                    break
                except Exception as error:
                    if call.completion.streaming or not call.again(error):
                        raise
        except SystemExit as error:
            concurrency.leave(error)
        except BaseException as error:
            self._interrupted(call) or call.error(error)
        else:
            self._interrupted(call) or call.value(value)
        self._turns.pause()

    def _value(self, call):
        if call.cancelled:
            return None
        if not call.completion.streaming:
            return call.method(*call.args, **call.kwargs)
        values = call.values()
        if not hasattr(values, "__next__"):
            raise ValueError(f'a call with num_returns="streaming" must return a generator, not {type(values).__name__}')
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
        hand = _here.hand()
        if hand is None or not blocking or (timeout <= 0 and timeout != -1):
            return self._lock.acquire(blocking, timeout)
        if self._lock.acquire(False):
            return True
        until = None if timeout == -1 else time.monotonic() + timeout
        while True:
            self._waiting.append(hand)
            if self._lock.acquire(False):  # one that takes no turns has released it just now
                self._waiting.remove(hand)
                return True
            if not _here.block(until):
                self._waiting.remove(hand)
                return self._lock.acquire(False)
            if self._lock.acquire(False):
                return True

    def release(self):
        _here.hand()
        self._lock.release()
        if self._waiting:
            _here.wake(self._waiting.popleft())

    def locked(self):
        return self._lock.locked()

    __enter__ = acquire

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


def install(turns):
    """From now on what threads of this process wait in is known to `turns`."""
    global _here
    _here = turns
    hands = {}  # Thread -> Hand

    def start(real):
        def start(function, *args, **kwargs):
            if turns.hand() is None:
                return real(function, *args, **kwargs)
            function_of_thread = getattr(function, "__self__", None)
            run, hand = turns.member(function)
            if isinstance(function_of_thread, threading.Thread):
                hands[function_of_thread] = hand
            return real(run, *args, **kwargs)

        return start

    def sleep(seconds, /):
        if turns.hand() is None or not seconds >= 0:
            return _sleep(seconds)
        turns.block(time.monotonic() + seconds)

    def join(thread, timeout=None):
        me, hand = turns.hand(), hands.get(thread)
        if me is not None and hand is not None and hand is not me and not hand.ended:
            hand.joining.append(me)
            if not turns.block(None if timeout is None else time.monotonic() + max(0, timeout)):
                hand.joining.remove(me)
                return
        real_join(thread, timeout)
        hands.pop(thread, None) if not thread.is_alive() else None

    def beside(function):
        return lambda *args, **kwargs: turns.outside(function, *args, **kwargs)

    # Sets of these, which executors and `concurrent.futures.wait` have, are in the same order in every run.
    threading.Thread.__hash__ = concurrent.futures.Future.__hash__ = lambda made: turns.number_of(made)
    real_join, threading.Thread.join = threading.Thread.join, join
    time.sleep = sleep
    _thread.allocate_lock = _thread.allocate = threading.Lock = threading._allocate_lock = Lock
    threading._CRLock = None  # RLock() is made of the above
    threading._time = queue.time = turns.clock
    queue.SimpleQueue = queue._PySimpleQueue
    for name in ("start_new_thread", "start_new", "start_joinable_thread"):
        if hasattr(_thread, name):
            setattr(_thread, name, start(getattr(_thread, name)))
    for name in ("_start_new_thread", "_start_joinable_thread"):
        if hasattr(threading, name):
            setattr(threading, name, start(getattr(threading, name)))
    for name in ("get", "get_one", "wait", "next_item"):
        setattr(_core, name, beside(getattr(_core, name)))
    os.register_at_fork(after_in_child=lambda: turns._own.__dict__.clear())
    watch = threading.Thread(target=turns.watch, name="watch", daemon=True)
    watch.start()
