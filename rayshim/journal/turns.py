"""The threads of a threaded actor take turns in a run with a journal.

In such a run only one thread at a time runs the actor's code: it has the turn. It gives up the turn

    when it waits: for a lock and everything built on locks (conditions, events, queues, executors), in `time.sleep`, `Thread.join`,
        `get`, `wait`, for the next value of a generator, and at the end of its call                                       "waits", "ends"
    after some milliseconds, at a line of the program's code, if other threads want it                                    "cut"
    when it is blocked in an unknown operation, such as on a socket; it asks for the turn again when it continues         "away"

and the next thread gets the turn. The behaviour of the threads is then determined by events from outside and their times: a call of the actor, its
cancellation, a timeout, the end of a wait for other processes. Such events are delivered at the end of a turn. So the journal has for each turn its
thread, how and at which step it ended, and the events delivered then. A step is a line of the program's code, or an operation on a lock. A replay
ends the turns at the same steps and delivers the same events there. It waits for an event that has not arrived yet, and holds back an event that
arrived later, or not at all, in the recorded run.

Garbage is collected after a fixed number of steps, because finalizers are code of the program, too. Lines of the standard library are not steps, and
no turn is cut there. Data that the program reads from sockets, pipes, other programs and clocks is not in the journal, except `time.monotonic`. If
a thread was blocked by such an operation in the recorded run and is not blocked in the replay, the rest of its line may run earlier (from Python
3.13 on: always). Code that releases the GIL to compute keeps the turn. Timers of an event loop that a method runs itself use the recorded clock; if
their delays differ from the recorded run, their order differs.
Measured: a line of Python takes about 130 ns instead of 40, a call of a Python function 0.6 µs instead of 0.1, a lock 9 µs instead of 0.4.
"""

import gc
import os
import sys
import sysconfig
import threading
import time
from _thread import allocate_lock, start_new_thread
from collections import deque

from reactor import _core
from reactor.printable import printable
from reactor.runtime.processes import process_stat

from rayshim.errors.exceptions import ReplayError
from rayshim.errors.user_code import is_users
from rayshim.journal.interleaving import REPLAY_SECONDS, Interleaving

_SLICE = 0.005  # seconds of a turn that others wait for
_LINES = 100  # between two looks at the clock
_COLLECTED = 5_000  # steps after which garbage is collected
_TICK = 0.01  # seconds; who is asleep and has not run from one tick to the next is blocked
_sleep, _monotonic = time.sleep, time.monotonic  # `install` puts others there


class TurnThread:
    """A thread that takes turns."""

    def __init__(self, turns, number):
        self.number = number  # in the order in which they were started
        self.gate = allocate_lock()  # open: the turn is given to it
        self.gate.acquire()
        self.steps = _core.LineCounter(_counts, lambda steps: turns._reached(self, steps))
        self.waits = 0  # how often it has waited
        self.waiting = self.woken = False  # in `block`; and it was not the time that ended that
        self.away = self.ended = False
        self.counted = 0  # of its steps in this turn, those in JournaledTurns._steps
        self.within = False  # code of this module, whose steps are none
        self.joining = []  # Hands that wait for its end
        self.ident = self.tid = self.clock = None


class Numbering:
    """Numbers of objects, for turns whose `_own` has the calling thread's `member`."""

    _own: threading.local

    def number_of(self, obj):
        """A number of the object `obj`, the same in every run: by the thread that asks first, and what that has asked for before."""
        if "_number_in_turns" not in obj.__dict__:
            member = getattr(self._own, "member", None)
            self._own.numbers = getattr(self._own, "numbers", 0) + 1
            obj._number_in_turns = (member.number + 1 if member else 0) << 32 | self._own.numbers
        return obj._number_in_turns


class JournaledTurns(Numbering, Interleaving):
    """The turns of an actor's threads: what the threads do, one thread's turn, what is between two turns, and who is blocked.

    Arguments:
        write: in a recorded run, called with a dict for each line of the journal; else None.
        lines: in a replay, the recorded lines of the turns, in order.
        answers: in a replay, what `physically` gave, in order.
        interrupted: in a replay, the tags of the calls that were cancelled.
        finished: called when all of the journal has been repeated.
        diverged: called with the ReplayError of a program that no longer matches its journal. Nothing runs from then on.
    """

    def __init__(self, write=None, lines=(), answers=(), interrupted=(), finished=None, diverged=None):
        self._write, self._on_finished, self._on_diverged = write, finished, diverged
        self._then = {line["turn"]: line for line in lines if "hand" in line}
        self._to_come = {}  # turn -> names of what came in at its end
        for line in lines:
            self._to_come.setdefault(line["turn"], deque()).extend(map(tuple, line["came"]))
        self._last = lines[-1]["turn"] if lines else -1
        self._answers, self._interrupted = deque(answers), interrupted
        self._mutex = allocate_lock()  # guards what follows; what the turn's holder alone changes needs it too
        self._turn, self._holder, self._ended = 0, None, None
        self._ready = deque()  # Hands, in the order in which they get the turn
        self._arrived = (
            {} if write is None else deque()
        )  # name -> function that lets it in; in a recorded run pairs of these
        self._members = self._futures = 0
        self._living = {}  # number -> TurnThread that has not ended
        self._steps = self._collections = 0
        self._own = threading.local()
        self._halted = self.finished = False
        self._changed = _monotonic()  # when the last turn began

    def own_thread(self):
        """The calling thread's, which makes a step; None if it takes no turns."""
        member = getattr(self._own, "member", None)
        if member is None or member.within:
            return None
        member.steps.count += 1
        if member.steps.count >= member.steps.limit:
            self._reached(member, 1)
        return member

    thread = own_thread
    has_own_loops = False  # event loops of threads go by the machine's descriptors

    def before_wait(self):
        """A thread that takes no turns is about to wait for another one."""

    def member(self, function):
        """`function` as that of a new thread that takes turns, and the TurnThread of that. For who has the turn, and for what is let in."""
        member = TurnThread(self, self._members)
        self._members += 1
        self._living[member.number] = member
        self._ready.append(member)

        def run(*args, **kwargs):
            self._enter(member)
            try:
                return function(*args, **kwargs)
            finally:
                self._leave(member)

        return run, member

    def forget(self, member):
        """The thread of this new TurnThread could not be started."""
        self._ready.remove(member)
        del self._living[member.number]

    def run(self, function):
        """`function()` in this thread, as one that takes turns."""
        joined = []
        self.come(("first",), lambda: joined.append(self.member(function)) or True)
        while not joined:
            _sleep(0.001)  # a replay of which nothing is left: for ever
        return joined[0][0]()

    def block(self, until=None):
        """The calling thread gives up its turn. True when `wake` was called for it, False when the time `until` has come."""
        member = self._own.member
        member.within = True
        member.waits += 1
        member.waiting, member.woken = True, False
        self._end(member, "waits")
        if until is not None and not member.gate.acquire(
            timeout=min(max(0, until - _monotonic()), threading.TIMEOUT_MAX)
        ):
            self.come(
                ("late", member.number, member.waits),
                lambda n=member.waits: member.waiting and member.waits == n and self._make_ready(member),
            )
            member.gate.acquire()
        elif until is None:
            member.gate.acquire()
        self._begin(member)
        return member.woken

    def wake(self, member):
        """Ends `member`'s block; by who has the turn, or by any thread."""
        if self._holder is not None and self._holder is getattr(self._own, "member", None):
            self._wake(member)
        else:
            self.come(
                ("woken", member.number, member.waits),
                lambda n=member.waits: member.waits == n and member.waiting and self._wake(member),
            )

    def wake_idle(self, member):
        """The same for a thread that waits for its next call, which is let in now."""
        self._wake(member)

    def pause(self):
        """The calling thread gives up its turn and asks for the next one."""
        member = self.own_thread()
        member.within = True
        self._go_round(member, "waits")

    def done(self, settle):
        """In a thread of its own that takes turns, when the runtime tells that a future's refs are done: `settle(refs, fut)`, which calls what the
        program waits with. Gives the function by which it tells."""
        number, self._futures = self._futures, self._futures + 1

        def let_in(refs, fut):
            run, _ = self.member(settle)
            start_new_thread(run, (refs, fut))
            return True

        return lambda refs, fut: self.come(("done", number), lambda: let_in(refs, fut))

    def outside(self, function, *args, **kwargs):
        """`function(*args, **kwargs)`, which waits for something from outside, without the turn."""
        member = self.own_thread()
        if member is None:
            return function(*args, **kwargs)
        member.within = True
        member.waits += 1
        self._end(member, "waits")
        try:
            return function(*args, **kwargs)
        finally:
            self._come_back(member)

    def beside(self, _name, function):
        """In place of a function of the core that waits."""
        return lambda *args, **kwargs: self.outside(function, *args, **kwargs)

    @staticmethod
    def now():
        """Seconds, for `block`."""
        return _monotonic()

    def physically(self, function):
        """`function()`, which is the runtime's own and looks at the outside. Its value goes into the journal, as JSON; a replay gives the recorded one."""
        value = self.outside(function)
        if self._write is not None:
            self._write({"answered": value})
            return value
        return self._answers.popleft() if self._answers else value

    def clock(self):
        """`time.monotonic()`, of the recorded run: what conditions, queues and event loops find by how much of a timeout is left."""
        if self.own_thread() is None:
            return _monotonic()
        now = self._answers.popleft() if self._answers else _monotonic()
        if self._write is not None:
            self._write({"answered": now})
        return now

    def _enter(self, member):
        member.within = True
        self._own.member = member
        member.ident, member.tid = threading.get_ident(), threading.get_native_id()
        member.clock = time.pthread_getcpuclockid(member.ident)
        member.gate.acquire()
        self._begin(member)
        member.steps.begin()

    def _leave(self, member):
        member.within = True
        member.steps.end()
        if member.away:
            self._come_back(member)
            member.within = True
        member.ended = True
        del self._living[member.number]
        for other in member.joining:
            self._wake(other)
        self._end(member, "ends")
        self._own.member = None

    def _begin(self, member):
        member.waiting = False
        member.steps.count = member.counted = 0
        self._set_limit(member)
        member.within = False

    def _set_limit(self, member):
        """At which step it is to be asked next."""
        then, count = self._then.get(self._turn), member.steps.count
        limit = member.counted + (self._collections + 1) * _COLLECTED - self._steps
        if self._write is not None:
            limit = min(limit, count + _LINES)
        elif then and then["how"] in ("cut", "away"):
            limit = min(limit, then["at"] + (then["how"] == "away"))
        member.steps.limit = max(limit, count + 1)

    def _count(self, member, count):
        self._steps += count - member.counted
        member.counted = count

    def _end(self, member, how, at=None):
        at = member.steps.count if at is None else at
        self._count(member, at)
        with self._mutex:
            self._ended = {"turn": self._turn, "hand": member.number, "how": how, "at": at}
            self._holder = None
            self._next()

    def _reached(self, member, steps):
        """It has come to its limit of steps, by one more step or at a bytecode between two."""
        if member.within:
            return
        member.within = True
        with self._mutex:
            away = member.away
        then = self._then.get(self._turn)
        if away:
            self._come_back(member, steps)
        elif self._write is not None:
            if (self._ready or self._arrived) and _monotonic() > self._changed + _SLICE:
                self._go_round(member, "cut")
        elif then and then["how"] == "cut" and then["at"] == member.steps.count:
            self._go_round(member, "cut")
        elif then and then["how"] == "away" and then["at"] < member.steps.count:
            member.waits += 1
            self._end(member, "away", then["at"])
            self._come_back(member, steps)
        self._count(member, member.steps.count)
        collect = self._steps >= (self._collections + 1) * _COLLECTED
        self._collections += collect
        self._set_limit(member)
        member.within = False
        if collect:
            gc.collect(2 if self._collections % 20 == 0 else 1)

    def _go_round(self, member, how):
        with self._mutex:
            self._ready.append(member)
        self._end(member, how)
        member.gate.acquire()
        self._begin(member)

    def _come_back(self, member, steps=0):
        """`steps` of its next turn it is about to make."""
        self.come(("back", member.number, member.waits), lambda: self._make_ready(member))
        member.gate.acquire()
        member.away = False
        self._begin(member)
        member.steps.count = steps
        if steps >= member.steps.limit:
            self._reached(member, steps)

    def _make_ready(self, member):
        member.waiting = False
        self._ready.append(member)
        return True

    def _wake(self, member):
        if member.waiting:  # else its time was up just before
            member.woken = True
            self._make_ready(member)
        return True

    def come(self, name, let_in):
        """Something comes from outside. `let_in()` is called where it is let in; False: it makes no difference any more."""
        with self._mutex:
            if self._write is None:
                self._arrived[name] = let_in
            else:
                self._arrived.append((name, let_in))  # pyright: ignore[reportAttributeAccessIssue]
            if self._holder is None:
                self._next()

    def _next(self):
        """At the end of a turn, and when something comes while nobody has it."""
        if self._halted:
            return
        if self._write is None:
            if not self._let_in_again():
                return
        else:
            self._let_in()
        if self._ready:
            self._turn += 1
            self._changed = _monotonic()
            self._holder = self._ready.popleft()
            self._holder.gate.release()

    def _let_in(self):
        came = []
        while self._arrived:
            name, let_in = self._arrived.popleft()  # pyright: ignore[reportAttributeAccessIssue]
            if let_in():
                came.append(name)
        if self._ended or came:
            self._write({**(self._ended or {"turn": self._turn}), "came": came})
        self._ended = None

    def _let_in_again(self):
        ended, self._ended = self._ended, None
        then = self._then.get(self._turn)
        if ended and then and any(ended[key] != then[key] for key in ("hand", "how")):
            return self._diverge(
                f"turn {self._turn} of its threads ended differently: in the recorded run {_end_text(then)}, now {_end_text(ended)}"
            )
        names = self._to_come.get(self._turn, ())
        while names:
            if names[0] not in self._arrived:
                if not self._can_come(*names[0]):
                    self._diverge(f"one of its threads waited for {names[0]} in the recorded run, and does not now")
                return False
            name = names.popleft()
            if not self._arrived.pop(name)():  # pyright: ignore[reportCallIssue]
                return self._diverge(f"one of its threads waited for {name} in the recorded run, and does not now")
        if self._turn >= self._last and not self.finished:
            self.finished = True
            self._on_finished()
        self._halted = self._turn > self._last
        if self._halted:
            self._on_finished()
        return not self._halted

    @property
    def halted(self):
        """Whether the journal has ended, or the program no longer matches it: nothing runs any more."""
        return self._halted

    def _can_come(self, kind, number=None, waits=None):
        """Whether what a thread waited for then is what it waits for now. Nobody has the turn, so that it can not come to that by itself."""
        member = self._living.get(number)
        return kind not in ("late", "woken", "back") or (member is not None and member.waits == waits)

    @property
    def at_end(self):
        """Whether this is the turn that did not end in the recorded run."""
        return self._turn > self._last

    def _diverge(self, what):
        self._halted = True
        self._on_diverged(ReplayError(f"the program no longer matches its journal: in the actor, {what}"))
        return False

    def fork(self):
        """Before this thread forks: what runs on either side up to `forked` makes no steps."""
        if member := getattr(self._own, "member", None):
            self._own.was_within, member.within = member.within, True

    def forked(self, child):
        """After that. In the child its only thread goes on without turns."""
        member = getattr(self._own, "member", None)
        if not child:
            if member:
                member.within = self._own.was_within
            return
        if member:
            member.steps.end()
        self._own.__dict__.clear()
        self._mutex, self._halted, self._write = allocate_lock(), True, lambda line: None

    def watch(self):
        """In a thread of its own, without end: the turn of who is blocked in what is not known here goes on to others."""
        seen, warned = None, False
        while True:
            _sleep(_TICK)
            look = self._look()
            if look and look == seen:
                self._pass_over(*look[:3])
            seen = look
            if (
                self._write is None
                and not (warned or self._halted or self.finished)
                and _monotonic() > self._changed + REPLAY_SECONDS
            ):
                warned = True
                print(
                    f"rayshim: replay: turn {self._turn} of a threaded actor has waited {REPLAY_SECONDS:g} s for its end in the journal, and for these "
                    f"events: {printable(list(self._to_come.get(self._turn, ())))}. The program may no longer match its journal.",
                    file=sys.stderr,
                )

    def _look(self):
        member = self._holder
        try:
            return (
                (member, self._turn, member.steps.count, time.clock_gettime(member.clock))
                if member and member.clock is not None and _sleeps(member.tid)
                else None
            )
        except OSError:
            return None  # it has ended

    def _pass_over(self, member, turn, count):
        then = self._then.get(turn)
        if self._write is None and not (then and then["how"] == "away" and then["at"] == count):
            return
        with self._mutex:
            if self._holder is not member or self._turn != turn or member.within:
                return
            if self._write is not None and not (self._ready or self._arrived):
                return
            member.steps.limit = 0  # its next step, or bytecode, is to come back
            if member.steps.count != count:
                return
            member.away = True
            if frame := sys._current_frames().get(member.ident):
                frame.f_trace_opcodes = True
            member.waits += 1
            self._ended = {"turn": turn, "hand": member.number, "how": "away", "at": count}
            self._holder = None
            self._next()


_LIBRARY = tuple(os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib"))
_PACKAGES = tuple(os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("purelib", "platlib"))


def _counts(file):
    """Whether the lines of this file are steps. Unlike for `user_code.is_programs`, those of installed packages are: threads change data there, too."""
    path = os.path.realpath(file)
    return (
        not file.startswith("<frozen ")
        and is_users(file)
        and (path.startswith(_PACKAGES) or not path.startswith(_LIBRARY))
    )


def _sleeps(tid):
    try:
        return process_stat.of_thread(tid).state == "S"
    except OSError:
        return False


def _end_text(ended):
    how = {"waits": "waited", "ends": "ended", "cut": "was interrupted", "away": "was blocked"}[ended["how"]]
    return f"thread {ended['hand']} {how}"
