"""A timer for code blocks, with running statistics."""

import time
from collections import deque

from rayshim.errors.user_code import calling


class _Timer:
    """Measures a block, `with timer: ...`; only for one thread.

    `count` is the number of all measurements; `mean`, `mean_units_processed` and `mean_throughput` (units per second) are computed from the last
    `window_size` ones.
    """

    def __init__(self, window_size: int = 10) -> None:
        self._times = deque(maxlen=window_size)
        self._units = deque(maxlen=window_size)
        self._started = None
        self._total_time = 0.0
        self.count = 0

    def __enter__(self) -> None:
        if self._started is not None:
            raise AssertionError(
                f"concurrent updates not supported (this timer is entered again at {calling()} before its block has ended; use one timer per block)"
            )
        self._started = time.time()

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self.push(time.time() - self._started)  # pyright: ignore[reportOperatorIssue]
        self._started = None

    def push(self, time_delta: float) -> None:
        self._times.append(time_delta)
        self.count += 1
        self._total_time += time_delta

    def push_units_processed(self, n: int) -> None:
        self._units.append(n)

    def has_units_processed(self) -> bool:
        return bool(self._units)

    @property
    def mean(self) -> float:
        return sum(self._times) / len(self._times) if self._times else 0.0

    @property
    def mean_units_processed(self) -> float:
        return sum(self._units) / len(self._units) if self._units else 0.0

    @property
    def mean_throughput(self) -> float:
        spent = sum(self._times)
        return sum(self._units) / spent if spent else 0.0
