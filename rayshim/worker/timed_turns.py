"""The threads of a threaded actor in timed order take turns: what they do has an order, as what an event loop does.

One thread at a time runs the actor's code. It gives up its turn where it waits: for a lock and everything built on locks, in `time.sleep`, `Thread.join`, `get`, `wait`, for the
next value of a generator, and at the end of its call. Then the next thread that can go on has the turn. If there is none, the burst is over: the actor is free for the next
event of its order. Such events begin a burst: a call starts, a ref that a thread waits for is done, a time is up. So within a burst the threads decide, and between bursts the
times of the order. Threads that a call starts take turns, too.

A thread that is blocked in what is not known here, such as a socket, or that computes for seconds without waiting, would keep the others from running. It loses its turn then and
takes none any more; the run is not repeatable from there on.
"""

import threading
import time
from _thread import allocate_lock
from collections import deque

from reactor import _core

from rayshim.journal.turns import Numbering
from rayshim.session import physical
from rayshim.worker.timed_loop import woken

_LONGEST_TURN, _LONGEST_SLEEP, _LONGEST_OUTSIDE = (
    5.0,
    1.0,
    30.0,
)  # seconds of a turn, of one that is blocked, of a wait that is known
_monotonic, _sleep = time.monotonic, time.sleep


class TimedThread:
    """A thread that takes turns."""

    def __init__(self, number):
        self.number = number  # in the order in which they were started
        self.gate = allocate_lock()  # open: the turn is given to it
        self.gate.acquire()
        self.waits = 0  # how often it has waited
        self.waiting = self.woken = self.ended = False
        self.clock: int | None = None  # of its processor time
        self.joining = []  # those that wait for its end
        self.within = False  # what it starts takes no turns


class _Wait:
    """What a thread waits for: `count` of the refs; with `all_in_order`, also the first that has failed, when those before it are done."""

    def __init__(self, refs, count, all_in_order):
        self.refs, self.count, self.all_in_order = refs, count, all_in_order
        self.done, self._first = set(), 0  # indices; all before `_first` are done

    def is_over(self, k):
        """Whether it is, now that ref k is done."""
        self.done.add(k)
        while self.all_in_order and self._first in self.done:
            if _core.timed_has_failed(self.refs[self._first]):
                return True
            self._first += 1
        return len(self.done) >= self.count


class TimedTurns(Numbering):
    """Who of an actor's threads runs. What changes it holds the turn, or is the main thread, which begins a burst when nobody has it."""

    def __init__(self):
        self._mutex = allocate_lock()
        self._ready = deque()  # in the order in which they get the turn
        self._holder, self._in_burst = None, False
        self._turn = self._members = 0
        self._own = threading.local()
        self._constructing = None
        self.is_starting = False  # the constructor waits until a new thread has begun
        self.threads = {}  # Thread -> TimedThread, for `join`

    def own_thread(self):
        """The calling thread's; None if it takes no turns, or has none now."""
        member = self.thread()
        return member if member is not None and member is self._holder and not member.within else None

    def thread(self):
        """The calling thread's; None if it has never taken turns."""
        return getattr(self._own, "member", None)

    def member(self, function):
        """`function` as that of a new thread that takes turns, and the TimedThread of that."""
        member = TimedThread(self._members)
        self._members += 1
        self._ready.append(member)

        def run(*args, **kwargs):
            self._own.member = member
            member.clock = time.pthread_getcpuclockid(threading.get_ident())
            self._take(member)
            try:
                return function(*args, **kwargs)
            finally:
                self._leave(member)

        return run, member

    def waiting_member(self, slot, serve):
        """For a new thread that takes turns from its first call on, which comes by `slot`: the function that waits for that, and gives it to `serve`."""
        member = slot._member = TimedThread(self._members)
        self._members += 1
        number = self._begin_wait(member)

        def run():
            self._own.member = member
            member.clock = time.pthread_getcpuclockid(threading.get_ident())
            self._wait(member, None, number)
            serve(slot._call)

        return run

    def forget(self, member):
        """The thread of this new TimedThread could not be started."""
        self._ready.remove(member)

    def run(self, constructor):
        """`constructor()`. Threads that it starts run when it has ended, or when it waits for them."""
        self._constructing = threading.get_ident()
        _core.timed_loop()
        try:
            return constructor()
        finally:
            self._constructing = None
            if self._ready:
                self._due(self._at(0.0, int))

    def before_wait(self):
        """The calling thread, which has no turn, is about to wait for another one. In the constructor: what that has started goes on as it comes."""
        if not self.is_constructing() or self.is_starting or not self._ready:
            return
        physical.count("the constructor of an actor waited for a thread")
        while self._ready:
            self._ready.popleft().gate.release()

    def is_constructing(self):
        """Whether the calling thread runs the actor's constructor."""
        return self._constructing == threading.get_ident()

    def begin(self, function, *args):
        """A burst, which begins with `function(*args)` in this thread, the main one."""
        _core.timed_loop()
        _core.timed_burst(True)
        self._in_burst = True
        function(*args)
        self._pass_on()

    def now(self):
        """Seconds, by the order, in a thread that has the turn. To look is an operation."""
        now = _core.timed_clock() if self.own_thread() else None
        return _monotonic() if now is None else now * 1e-9

    clock = now
    has_own_loops = True

    def block(self, until=None):
        """The calling thread gives up its turn. True when `wake` was called for it, False when the time `until` has come."""
        member = self.thread()
        return self._wait(member, until, self._begin_wait(member))

    def wait_for(self, refs, count, timeout, all_in_order=False):
        """Waits for `count` of the refs, all different, or for `timeout` seconds. The indices of those that are done, in order; None: the order has no
        room for them."""
        member = self.thread()
        until = None if timeout is None else self.now() + timeout
        number, wait = self._begin_wait(member), _Wait(refs, count, all_in_order)
        awaits = []
        for k, ref in enumerate(refs):
            awaits.append(_core.timed_await(ref))
            woken[awaits[-1]] = self._is_done, (member, number, wait, k)
        if all(awaits):
            self._wait(member, until, number)
        for await_number in awaits:
            if woken.pop(await_number, None):
                _core.timed_cancel_timer(await_number)
        return sorted(wait.done) if all(awaits) else None

    def wake(self, member):
        """Ends `member`'s block; by any thread."""
        with self._mutex:
            if self._in_burst:
                return self._make_ready(member, member.waits)
        # By a thread that takes no turns: a burst of its own.
        physical.count("a thread that takes no turns has woken another one")
        _core.timed_loop()
        self._due(self._at(0.0, self._make_ready, member, member.waits))

    wake_idle = wake

    def outside(self, function, *args, **kwargs):
        """`function(*args, **kwargs)`, which waits for something from outside, without the turn."""
        member = self.own_thread()
        if member is None:
            return function(*args, **kwargs)
        number = self._at(0.0, self._make_ready, member, self._begin_wait(member))
        if not number:
            return function(*args, **kwargs)
        member.within = True
        self._pass_on()
        try:
            return function(*args, **kwargs)
        finally:
            self._due(number)
            self._take(member)
            member.within = False

    def beside(self, name, function):
        """In place of the core's function of that name, which waits."""
        wait_for, own_thread = self.wait_for, self.own_thread

        def get_one(ref, timeout):
            if own_thread() and not _core.holds_code(ref) and wait_for([ref], 1, timeout) == []:
                return _core.TIMED_OUT
            return function(ref, timeout)

        def get(refs, timeout, in_time=True):
            if own_thread() and in_time and refs:
                different = list(dict.fromkeys(refs))
                done = wait_for(different, len(different), timeout, True)
                if (
                    done is not None
                    and len(done) < len(different)
                    and not any(_core.timed_has_failed(different[k]) for k in done)
                ):
                    return None
            return function(refs, timeout, in_time)

        def wait(refs, count, timeout, site=None):
            if not own_thread() or not all(isinstance(ref, _core.Ref) for ref in refs) or len(set(refs)) < len(refs):
                return function(refs, count, timeout, site)
            done = wait_for(refs, count, timeout)
            if done is None:
                return function(refs, count, timeout, site)
            done = done[:count]
            there = set(done)
            return [refs[k] for k in done], [ref for k, ref in enumerate(refs) if k not in there], True, 0

        def next_item(link, completion, timeout):
            if own_thread() and wait_for([link], 1, timeout) == []:
                return _core.TIMED_OUT
            return function(link, completion, timeout)

        def timed_wait_any(refs, timeout):
            return wait_for(refs, 1, timeout) if own_thread() else function(refs, timeout)

        def timed_here():
            return own_thread() is not None or function()

        return locals()[name]

    def take(self, refs, future, settle):
        """Has `settle(refs, future)` called when the first of the refs is done. False in a thread that takes no turns, and if the order has no room for it."""
        number = _core.timed_await(refs[0]) if self.own_thread() else 0
        if number:
            woken[number] = settle, (refs, future)
        return bool(number)

    def fork(self):
        """Before this thread forks."""

    def forked(self, child):
        """After that. In the child its only thread goes on without turns."""
        if child:
            self._own.__dict__.clear()
            self._mutex = allocate_lock()

    def watch(self):
        """In a thread of its own, without end: takes the turn from who has it for too long."""
        look, since = None, 0.0
        while True:
            _sleep(_LONGEST_SLEEP / 10)
            before, look = look, (self._turn, self._processor_time())
            if look[1] is None or before is None or look[0] != before[0]:
                since = _monotonic()
            elif _monotonic() > since + self._longest(look == before):
                physical.count(
                    f"a thread ran, or was blocked, for more than {_LONGEST_SLEEP:g} s without waiting for a lock, a ref or a time"
                )
                self._pass_on(look[0])  # who has it takes turns again when it waits for its next call

    def _longest(self, sleeps):
        holder = self._holder
        return _LONGEST_OUTSIDE if holder and holder.within else _LONGEST_SLEEP if sleeps else _LONGEST_TURN

    def _processor_time(self):
        """Of the thread that has the turn, in seconds; None: there is none."""
        holder = self._holder
        try:
            return time.clock_gettime(holder.clock) if holder and holder.clock is not None else None
        except OSError:
            return None  # it has ended

    def _at(self, delay, function, *args):
        """Calls `function(*args)` in a burst, when `delay` seconds are over. Gives a number for `_due`."""
        number = _core.timed_timer(delay)
        woken[number] = function, args
        return number

    def _due(self, number):
        """In a measured run: now its time has come."""
        if _core.timed_measured():
            _core.timed_timer_is_due(number)

    def _begin_wait(self, member):
        member.waits += 1
        member.waiting, member.woken = True, False
        return member.waits

    def _wait(self, member, until, waits):
        delay = 0.0 if until is None else max(0.0, until - (_core.timed_loop_time() or 0.0))
        number = None if until is None else self._at(delay, self._make_ready, member, waits, False)
        if number == 0:  # there is no room for it
            _sleep(delay)
            return member.woken
        if self._holder is member:
            self._pass_on()
        if (
            number is not None
            and _core.timed_measured()
            and not member.gate.acquire(timeout=min(delay, threading.TIMEOUT_MAX))
        ):
            self._due(number)
            self._take(member)
        elif number is not None and _core.timed_measured():
            self._begin_turn(member)
        else:
            self._take(member)
        if number is not None and member.woken:
            _core.timed_cancel_timer(number)
            woken.pop(number, None)
        return member.woken

    def _is_done(self, member, waits, wait, k):
        if member.waiting and member.waits == waits and wait.is_over(k):
            self._make_ready(member, waits)

    def _make_ready(self, member, waits, is_woken=True):
        if member.waiting and member.waits == waits:
            member.waiting, member.woken = False, is_woken
            self._ready.append(member)

    def _take(self, member):
        member.gate.acquire()
        self._begin_turn(member)

    def _begin_turn(self, member):
        member.waiting = False
        if self._holder is member:  # else it has lost the turn meanwhile
            _core.timed_loop()

    def _leave(self, member):
        member.ended = True
        for other in member.joining:
            self.wake(other)
        if self._holder is member:
            self._pass_on()
        self._own.member = None

    def _pass_on(self, turn=None):
        """The turn ends, if it is still `turn`; with nobody ready, the burst does, too."""
        with self._mutex:
            if turn is not None and self._turn != turn:
                return
            self._turn += 1
            self._holder = self._ready.popleft() if self._ready else None
            if self._holder:
                return self._holder.gate.release()
            self._in_burst = False
            _core.timed_burst(False)
