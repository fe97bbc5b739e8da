"""Locks, sleeps and other waits of a threaded actor's threads that take turns: in a run with a journal, see rayshim.journal.turns, and in timed order, see
rayshim.worker.timed_turns."""

# pyright: reportAttributeAccessIssue=false
# (the standard library's own attributes, which it replaces)

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

from rayshim.journal import files, turns  # noqa: F401  the runtime's own locks are made before `know_locks`
from rayshim.session import futures

_sleep, _monotonic = time.sleep, time.monotonic
_actors = None  # the turns of this process


class Lock:
    """`threading.Lock` among threads that take turns; among others it is an ordinary one."""

    __slots__ = ("__weakref__", "_lock", "_waiting")

    def __init__(self):
        self._lock, self._waiting = allocate_lock(), deque()

    def acquire(self, blocking=True, timeout=-1):
        member = None if _actors is None else _actors.own_thread()
        if member is None or not blocking or (timeout != -1 and not 0 < timeout <= threading.TIMEOUT_MAX):
            if _actors is not None and member is None and blocking and self._lock.locked():
                _actors.before_wait()
            return self._lock.acquire(blocking, timeout)
        if self._lock.acquire(False):
            return True
        until = None if timeout == -1 else _actors.now() + timeout
        while True:
            self._waiting.append(member)
            if self._lock.acquire(False):  # one that takes no turns has released it just now
                self._wait_no_more(member)
                return True
            woken = _actors.block(until)
            self._wait_no_more(member)
            if self._lock.acquire(False):
                return True
            if not woken and until is not None:
                return False

    def release(self):
        if _actors is not None:
            _actors.own_thread()
        self._lock.release()
        try:
            member = self._waiting.popleft()
        except IndexError:
            return
        _actors.wake(member)

    def _wait_no_more(self, member):
        try:
            self._waiting.remove(member)
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
        _actors.wake_idle(self._member)

    def get(self):
        self._member = _actors.thread()
        _actors.block()
        return self._call


def outside(function):
    """`function()`, which waits for or asks something outside, without the turn if this thread has one."""
    return function() if _actors is None else _actors.outside(function)


def know_locks():
    """Replaces the lock types, before the program's modules are imported: the journal has the order in which threads get these locks only."""
    _thread.allocate_lock = _thread.allocate = threading.Lock = threading._allocate_lock = Lock
    threading._CRLock = None  # RLock() is made of the above
    functools.RLock = threading.RLock
    _thread.LockType = Lock
    queue.SimpleQueue = queue._PySimpleQueue


def _starting(turns, members, real):
    """`real`, a function of `_thread` that starts a thread, for which the new thread becomes a member of `turns`; `members` gets it."""

    def start(function, *args, **kwargs):
        if turns.own_thread() is None:
            return real(function, *args, **kwargs)
        function_of_thread = getattr(function, "__self__", None)
        run, member = turns.member(function)
        try:
            ident = real(run, *args, **kwargs)
        except BaseException:
            turns.forget(member)
            raise
        if isinstance(function_of_thread, threading.Thread):
            members[function_of_thread] = member
        return ident

    return start


def install(turns):
    """Replaces the functions of the standard library and of the core in which threads wait: `turns` decides from now on which thread runs. Returns the
    threads that take turns, {Thread: its turns' object}."""
    global _actors
    _actors = turns
    members = weakref.WeakKeyDictionary()  # Thread -> TurnThread

    def sleep(seconds, /):
        if turns.own_thread() is None or not seconds >= 0:
            return _sleep(seconds)
        turns.block(turns.now() + seconds)

    def join(thread, timeout=None):
        me, member = turns.own_thread(), members.get(thread)
        if me is not None and member is not None and member is not me and not member.ended:
            member.joining.append(me)
            if not turns.block(None if timeout is None else turns.now() + max(0, timeout)):
                member.joining.remove(me)
                return
        elif me is None and member is not None and not member.ended:
            turns.before_wait()
        real_join(thread, timeout)

    def is_alive(thread):
        member = members.get(thread)
        return not member.ended if member is not None and turns.own_thread() is not None else real_is_alive(thread)

    def look(selector, timeout=None):
        if turns.own_thread() is None or (timeout == 0 and turns.has_own_loops):
            return select(selector, timeout)
        turns.outside(select, selector, timeout)
        return select(selector, 0)  # what the other threads have written before this turn, not while it waited for it

    def beside(function):
        return lambda *args, **kwargs: turns.outside(function, *args, **kwargs)

    # Sets of these, which executors and `concurrent.futures.wait` have, are in the same order in every run.
    threading.Thread.__hash__ = concurrent.futures.Future.__hash__ = lambda obj: turns.number_of(obj)
    real_join, threading.Thread.join = threading.Thread.join, join
    real_is_alive, threading.Thread.is_alive = threading.Thread.is_alive, is_alive
    time.sleep = sleep
    threading._time = queue.time = subprocess._time = turns.clock
    select, selectors.DefaultSelector.select = selectors.DefaultSelector.select, look
    for name in ("wait", "communicate"):
        setattr(subprocess.Popen, name, beside(getattr(subprocess.Popen, name)))
    for name in ("start_new_thread", "start_new", "start_joinable_thread"):
        if hasattr(_thread, name):
            setattr(_thread, name, _starting(turns, members, getattr(_thread, name)))
    for name in ("_start_new_thread", "_start_joinable_thread"):
        if hasattr(threading, name):
            setattr(threading, name, _starting(turns, members, getattr(threading, name)))
    for name in ("get", "get_one", "wait", "next_item"):
        setattr(_core, name, turns.beside(name, getattr(_core, name)))
    os.register_at_fork(
        before=turns.fork, after_in_parent=lambda: turns.forked(False), after_in_child=lambda: turns.forked(True)
    )
    return members


def install_for_journal(turns):
    """`install`, and what only a journal needs: the program's clock, futures, and when garbage is collected."""
    install(turns)

    def watch_for(refs, fut, settle):
        member = turns.own_thread()
        if member is None:
            return real_watch_for(refs, fut, settle)
        member.within = True  # the thread that this starts takes no turns
        real_watch_for(refs, fut, turns.done(settle))
        member.within = False

    real_watch_for, futures.watch_for = futures.watch_for, watch_for
    done, futures._done = futures._done, lambda refs: turns.own_thread() is None and done(refs)
    time.monotonic = turns.clock
    gc.disable()
    watch = threading.Thread(target=turns.watch, name="watch", daemon=True)
    watch.start()
