"""The event loop of an async actor in timed order: its timers, and so `asyncio.sleep` and timeouts, are events of the order."""

import asyncio
import time

from reactor import _core

from rayshim.timing.loop import NumberedLoop

woken = {}  # number of what goes on later, by the core -> (function, arguments)


def go_on(number):
    """In the event loop: calls what goes on with this number; nothing if it was cancelled."""
    function, arguments = woken.pop(number, (int, ()))
    function(*arguments)


class TimedLoop(NumberedLoop):
    """Its time begins with the run. While a callback runs, it is that of the actor's last operation. A callback at a later time is a message of the actor to itself: in a
    measured run it is sent when the time has come, in a later run at the time that follows from the delay, and from how late the measured run was.
    """

    def __init__(self, selector):
        super().__init__(selector)
        self._base = _core.timed_base()
        self._numbers = {}  # TimerHandle -> (its number, that of the clock in a measured run or None)

    def time(self):
        now = _core.timed_loop_time()
        return (time.monotonic_ns() - self._base) * 1e-9 if now is None else now

    def call_at(self, when, callback, *args, context=None):
        number = _core.timed_timer(when - self.time())
        if not number:  # not in a callback of the program
            return super().call_at(when, callback, *args, context=context)
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        handle._scheduled = True  # it tells of its cancellation  # pyright: ignore[reportAttributeAccessIssue]
        clock = super().call_at(when, _core.timed_timer_is_due, number) if _core.timed_measured() else None
        self._numbers[handle] = number, clock
        woken[number] = self._due, (handle,)
        return handle

    def _due(self, handle):
        self._numbers.pop(handle, None)
        handle._scheduled = False
        if not handle.cancelled():
            handle._run()

    def _timer_handle_cancelled(self, handle):
        number, clock = self._numbers.pop(handle, (0, None))
        if not number:
            return super()._timer_handle_cancelled(handle)  # pyright: ignore[reportAttributeAccessIssue]
        if clock:
            clock.cancel()
        _core.timed_cancel_timer(number)
        woken.pop(number, None)
