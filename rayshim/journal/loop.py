"""The event loop of an async actor in a run with a journal.

The behaviour of an event loop is determined by events from outside and their times: a call of the actor, a timer that is due, the result of
another thread or process (`await ref`, `run_in_executor`), a socket that is ready. Everything else is first come, first served. So the journal
has, for each round of the loop, the number of callbacks that ran before it and the events that arrived in it. A replay delivers the same events
at the same place: it waits for an event that has not arrived yet, and holds back an event that arrived later, or not at all, in the recorded
run. Nothing else runs between two rounds. So the coroutines continue in the same order at each `await`, and timeouts and cancellations hit
them at the same place.

Data that the program reads from sockets, pipes, other programs and clocks is not in the journal. If the program behaves differently because of
such data, it no longer matches its journal, and gets a ReplayError.
"""

# pyright: reportAttributeAccessIssue=false
# (asyncio's own attributes)

import asyncio
import heapq
import sys
import threading
import time
from collections import deque
from weakref import WeakKeyDictionary, WeakValueDictionary

from reactor.printable import printable

from rayshim.errors.exceptions import ReplayError
from rayshim.journal.interleaving import REPLAY_SECONDS, Interleaving


# The futures and tasks of a loop are made in the same order in every run. By their numbers they have the same order in sets too, which is
# what `asyncio.wait` gives.
class _Numbered:
    def __init__(self, *args, number, **how):
        self.number = number  # first: who makes it may put it into a set
        super().__init__(*args, **how)

    def __hash__(self):
        return self.number


class _Future(_Numbered, asyncio.Future):
    pass


class _Task(_Numbered, asyncio.Task):
    pass


class _Timer(asyncio.TimerHandle):
    __slots__ = ("number",)


class JournaledLoop(Interleaving, asyncio.SelectorEventLoop):
    """An event loop that writes arriving events to the journal, or lets them in when the journal has them.

    Arguments:
        selector: with an attribute `replay`, which is set to the loop in a replay.
        write: in a recorded run, called with a dict for each line of the journal; else None.
        rounds: in a replay, [(callbacks run before, names of what came in)], of each round.
        answers: in a replay, what `physically` gave, in order.
        interrupted: in a replay, the tags of the calls that were cancelled before they ended.
        finished: called when all of the journal has been repeated.
        diverged: called with the ReplayError of a program that no longer matches its journal. Nothing runs from then on.
    """

    def __init__(self, selector, write=None, rounds=(), answers=(), interrupted=(), finished=None, diverged=None):
        self._write, self._on_finished, self._on_diverged = write, finished, diverged
        self._rounds, self._answers = deque(r for r in rounds if r[1]), deque(answers)
        self._last = rounds[-1][0] if rounds else -1  # callbacks run before the last round
        self._ran = 0  # callbacks
        self._futures = self._timers = self._watched = self._unnamed = 0  # how many there were; tasks are futures
        self._arrived = deque()  # (name, handle) from other threads, and of this one
        self._actors = {}  # in a replay: name -> handles that have come and are not yet let in
        self._sockets = []  # (name, handle) found ready at the last look
        self._socket_names = WeakKeyDictionary()  # handle -> name
        self._timer_of = WeakValueDictionary()  # number -> _Timer
        self._interrupted = interrupted
        self._other = None  # a plain loop in a thread of its own
        self.finished = self.halted = False
        self._awaited = None  # name
        self._event_text = False
        super().__init__(selector)
        self.set_task_factory(self._task)
        if write is None:
            selector.replay = self

    # ---- what comes in

    def create_future(self):
        self._futures += 1
        return _Future(loop=self, number=self._futures - 1)

    def _task(self, loop, coroutine, **how):
        self._futures += 1
        return _Task(coroutine, loop=loop, number=self._futures - 1, **how)

    def call_at(self, when, callback, *args, context=None):
        self._check_closed()
        timer = _Timer(when, callback, args, self, context)
        timer.number = self._timers
        self._timers += 1
        self._timer_of[timer.number] = timer
        heapq.heappush(self._scheduled, timer)
        timer._scheduled = True
        return timer

    def call_soon(self, callback, *args, context=None):
        # asyncio.timeout() asks the clock whether its time is over already. It gets a timer in any case: the same event in every run.
        timeout = getattr(callback, "__self__", None)
        if _Timeout and type(timeout) is _Timeout:
            return self.call_at(timeout.when(), callback, *args, context=context)
        return super().call_soon(callback, *args, context=context)

    def call_soon_threadsafe(self, callback, *args, context=None):
        if args and isinstance(args[0], _Future):
            return self.come("future", args[0].number, callback, *args, context=context)
        with _lock:
            self._unnamed += 1
            return self.come("other", self._unnamed - 1, callback, *args, context=context)

    def come(self, kind, number, callback, *args, context=None):
        """`call_soon_threadsafe` of what has the same kind and number in every run."""
        self._check_closed()
        handle = asyncio.Handle(callback, args, self, context)
        self._arrived.append(((kind, number), handle))
        self._write_to_self()
        return handle

    def _add_reader(self, fd, callback, *args):
        added = super()._add_reader(fd, callback, *args)
        return self._name_socket(fd, 0, added)

    def _add_writer(self, fd, callback, *args):
        added = super()._add_writer(fd, callback, *args)
        return self._name_socket(fd, 1, added)

    def _name_socket(self, fd, which, added):
        handle = self._selector.get_key(fd).data[which]
        self._socket_names[handle] = "socket", self._watched
        self._watched += 1
        return added

    def _add_callback(self, handle):
        if handle._callback == self._read_from_self:
            handle._run()  # the bell of call_soon_threadsafe
        elif not handle._cancelled:
            self._sockets.append((self._socket_names[handle], handle))

    async def physically(self, coroutine):
        """Awaits `coroutine`, which is the runtime's own and looks at the outside, in another loop. Its value goes into the journal, as JSON;
        a replay gives the recorded one."""
        if self._other is None:
            self._other = asyncio.new_event_loop()
            threading.Thread(target=self._other.run_forever, name="outside", daemon=True).start()
        value = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, self._other))
        if self._write is not None:
            self._write({"answered": value})
            return value
        return self._answers.popleft() if self._answers else value

    # ---- rounds

    def _run_once(self):
        self._forget_cancelled()
        if self._write is None:
            self._let_in_again()
        else:
            self._let_in()
        for _ in range(len(self._ready)):
            handle = self._ready.popleft()
            self._ran += 1
            if not handle._cancelled:
                handle._run()
        handle = None  # noqa: F841  what it refers to is not kept alive by this frame

    def _look(self, until):
        """Looks at the sockets; waits for something from outside until the time `until` (None: for ever; 0: not)."""
        self._sockets.clear()
        timeout = 0 if self._arrived or until == 0 else None if until is None else max(0, until - self.time())
        self._process_events(self._selector.select(timeout))

    def _let_in(self):
        self._look(0 if self._ready or self._stopping else self._scheduled[0]._when if self._scheduled else None)
        came = list(self._sockets)
        while self._arrived:
            came.append(self._arrived.popleft())
        now = self.time() + self._clock_resolution
        while self._scheduled and self._scheduled[0]._when < now:
            timer = self._take_timer(heapq.heappop(self._scheduled))
            if not timer._cancelled:
                came.append((("timer", timer.number), timer))
        self._ready.extend(handle for _, handle in came)
        if self._ready:
            self._write({"round": self._ran, "came": [name for name, _ in came]})

    def _let_in_again(self):
        if self._rounds and self._rounds[0][0] == self._ran:
            names = self._rounds.popleft()[1]
            self._ready.extend([self._wait_for(name) for name in names])
        elif self._rounds and (self._rounds[0][0] < self._ran or not self._ready):
            self._diverge(
                f"{_event_text(self._rounds[0][1][0])} arrived after {self._rounds[0][0]} callbacks in the recorded run, and {self._ran} have run now"
            )
        elif not self._rounds and (self._ran > self._last or not self._ready):
            self._halt()

    def _wait_for(self, name):
        kind, number = name
        timer = self._timer_of.get(number) if kind == "timer" else None
        if (kind == "timer" and (timer is None or timer._cancelled)) or (kind == "future" and number >= self._futures):
            self._diverge(f"{_event_text(name)} arrived in the recorded run, but does not exist now")
        while True:
            for found, handle in self._sockets:
                if found == name:
                    return handle
            while self._arrived:
                found, handle = self._arrived.popleft()
                self._actors.setdefault(found, deque()).append(handle)
            if self._actors.get(name):
                handles = self._actors[name]
                handle = handles.popleft()
                if not handles:
                    del self._actors[name]
                return handle
            until = None
            if kind == "timer":
                if timer._when < self.time() + self._clock_resolution:
                    self._scheduled = [
                        other for other in self._scheduled if other is not timer
                    ]  # equal ones are others
                    heapq.heapify(self._scheduled)
                    return self._take_timer(timer)
                until = timer._when
            self._awaited = name
            unwanted = bool(self._sockets)
            self._look(until)
            if unwanted and self._sockets:
                time.sleep(0.001)  # they stay ready: not to spin

    def _take_timer(self, timer):
        timer._scheduled = False
        return timer

    def _forget_cancelled(self):
        if self._timer_cancelled_count > 100 and 2 * self._timer_cancelled_count > len(self._scheduled):
            for timer in self._scheduled:
                timer._scheduled = not timer._cancelled
            self._scheduled = [timer for timer in self._scheduled if not timer._cancelled]
            heapq.heapify(self._scheduled)
            self._timer_cancelled_count = 0
        while self._scheduled and self._scheduled[0]._cancelled:
            self._timer_cancelled_count -= 1
            self._take_timer(heapq.heappop(self._scheduled))

    # ---- ends of a replay

    def _halt(self):
        """No more was done then: it waits for the end that came to it."""
        self.finished = self.halted = True
        self._on_finished()
        while True:
            self._arrived.clear()
            self._look(None)
            if self._sockets:
                time.sleep(0.001)

    def _diverge(self, what):
        self._on_diverged(ReplayError(f"the program no longer matches its journal: in the actor's event loop, {what}"))
        self._halt()

    @property
    def at_end(self):
        """Whether only the last recorded event is left."""
        return not self._rounds

    def patience(self):
        """Seconds after which `waited` is to be called when nothing has happened, or None."""
        return None if self._event_text or self.finished else REPLAY_SECONDS

    def waited(self):
        self._event_text = True
        print(
            f"rayshim: replay: an async actor has waited {REPLAY_SECONDS:g} s for the next event in its journal, {printable(_event_text(self._awaited))}. "
            "The program may no longer match its journal.",
            file=sys.stderr,
        )


_lock = threading.Lock()
_Timeout = getattr(asyncio, "Timeout", None)  # from Python 3.11 on


def _event_text(name):
    kind, number = name
    what = {
        "future": "the result of another thread or process, for future",
        "timer": "timer",
        "call": "call",
        "cancel": "the cancellation of call",
    }
    return f"{what.get(kind, kind)} {number}"
