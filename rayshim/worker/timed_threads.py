"""The groups of an actor whose threads take turns in timed order."""

# pyright: reportAttributeAccessIssue=false
# (methods of threading.Thread that it replaces)

import functools
import threading
from concurrent.futures import Future

from reactor import _core

from rayshim.journal import threads as waits
from rayshim.session import session
from rayshim.timing import loop
from rayshim.worker.running import constructing
from rayshim.worker.threads import Threads
from rayshim.worker.timed_turns import TimedTurns


class TimedThreads(Threads):
    """The threads of one of the actor's groups, which take turns."""

    def __init__(self, turns, limit):
        super().__init__(limit)
        self._turns, self._slot = turns, waits.Slot

    def construct(self, constructor):
        """`constructor()`, in the thread that runs the first call, and with a limit of 1 all others."""
        made, mine, numbers = Future(), self._slot(), (_core.running_uid(), _core.running_tag_hash())
        serve = self._turns.waiting_member(mine, self._serve)

        def first():
            constructing.set(numbers)
            try:
                instance = self._turns.run(constructor)
            except BaseException as error:
                return made.set_exception(error)
            self._count = 1
            self._idle.append(mine)
            made.set_result(instance)
            serve()

        threading.Thread(target=first, name="actor", daemon=True).start()
        return made.result()

    def submit(self, call):
        self._turns.begin(super().submit, call)

    def wake(self, _, function, number):
        self._turns.begin(function, number)

    def _start(self, call):
        serve, _ = self._turns.member(self._serve)
        threading.Thread(target=serve, args=(call,), name="actor", daemon=True).start()


def begin(groups=None):
    """In the process of an actor with threads, before its constructor. Gives (the kind of its groups: limit -> TimedThreads, what runs the constructor). `groups`:
    {name: TimedThreads} of an actor whose constructor runs in the thread of its calls."""
    turns = TimedTurns()
    turns.threads = waits.install(turns)
    for name in ("timed_wait_any", "timed_here"):
        setattr(_core, name, turns.beside(name, getattr(_core, name)))
    session.timed_loop = lambda refs, future, settle: (
        loop.take(refs, future, settle) or turns.take(refs, future, settle)
    )
    start = threading.Thread.start

    def start_member(thread):
        if turns.is_constructing():  # it does not wait for this thread, which ends no turn
            thread.run, turns.threads[thread] = turns.member(thread.run)
        turns.is_starting = turns.is_constructing()
        try:
            start(thread)
        finally:
            turns.is_starting = False

    threading.Thread.start = start_member
    threading.Thread(target=turns.watch, name="watch", daemon=True).start()
    kind = functools.partial(TimedThreads, turns)
    return kind, turns.run if groups is None else lambda constructor: groups[""].construct(constructor)
