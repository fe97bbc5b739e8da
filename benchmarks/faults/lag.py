"""Measures how late a sleeping thread continues, which is the delay that a busy machine adds."""

import bisect
import threading
import time

PERIOD = 0.01


class Lag:
    """A context manager that measures from its begin to its end, in its own thread."""

    def __init__(self):
        self._times, self._sums = [0.0], [0.0]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._before = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._stop.set()
        self._thread.join()

    def _run(self):
        while not self._stop.wait(PERIOD):
            self.tick()

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
