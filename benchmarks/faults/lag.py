"""How much later than asked for a sleeping thread goes on: what a busy machine adds to every delay."""

import bisect
import threading
import time

PERIOD = 0.01


class Lag:
    """A context manager that measures from its begin to its end."""

    def __init__(self):
        self._times, self._sums = [0.0], [0.0]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._measure, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._stop.set()
        self._thread.join()

    def _measure(self):
        before = time.monotonic()
        while not self._stop.wait(PERIOD):
            now = time.monotonic()
            self._sums.append(self._sums[-1] + max(now - before - PERIOD, 0.0))
            self._times.append(now)
            before = now

    def between(self, start, end):
        """Seconds that were lost between two times."""

        def until(when):
            return self._sums[bisect.bisect_right(self._times, when, hi=len(self._sums)) - 1]

        return until(end) - until(start)
