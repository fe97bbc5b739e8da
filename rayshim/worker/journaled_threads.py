"""Threads of a threaded actor in a run with a journal."""

import threading
import time

from reactor import _core

from rayshim.journal.threads import Slot
from rayshim.worker.failures import wrong_results
from rayshim.worker.threads import Threads

_CANCEL_SECONDS = _core.GATE_SECONDS


class RecordedThreads(Threads):
    """Threads that take turns, in a run with a journal. Calls and cancellations arrive at the end of a turn."""

    _calls = 0  # number of calls, over all groups

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
            raise wrong_results(1, _core.STREAM, values)
        self._turns.physically(lambda: _let_on(call.completion))
        for value in values:
            ticket = call.completion.item(value)
            if self._turns.physically(lambda: _taken(call.completion, ticket)):  # noqa: B023
                raise KeyboardInterrupt
        return None

    def _interrupted(self, call):
        interrupted = (
            self._turns.was_interrupted(call.tag, lambda: call.completion.cancelled) and not call.completion.streaming
        )
        if interrupted:
            call.value(None)
        return interrupted


def _taken(completion, ticket):
    """Waits until the generator may yield one more value. Returns whether no reader wants it any more."""
    while ticket is not None and not ticket.done() and not completion.cancelled:
        _core.wait([ticket], 1, _CANCEL_SECONDS)
    return _let_on(completion)


def _let_on(completion):
    while not completion.cancelled and (unread := completion.let_on()) is not None:
        _core.wait(unread, 1, _CANCEL_SECONDS) if unread else time.sleep(0.001)
    return bool(completion.cancelled)
