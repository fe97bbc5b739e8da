"""Measures how late a sleeping thread continues, which is the delay that a busy machine adds."""

import bisect
import time

from rayshim.cli.compare.processes import Periodic

PERIOD = 0.01


class Lag(Periodic):
    """A context manager that measures from its begin to its end."""

    def __init__(self):
        super().__init__(PERIOD)
        self._times, self._sums = [0.0], [0.0]

    def __enter__(self):
        self._before = time.monotonic()
        return super().__enter__()

    def tick(self):
        now = time.monotonic()
        self._sums.append(self._sums[-1] + max(now - self._before - PERIOD, 0.0))
        self._times.append(now)
        self._before = now

    def between(self, start, end):
        """Seconds that were lost between two times."""

        def until(when):
            return self._sums[bisect.bisect_right(self._times, when, hi=len(self._sums)) - 1]

        return until(end) - until(start)
