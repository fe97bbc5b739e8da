"""The pace of the machine, by which limits of time are multiplied."""

import subprocess
import sys
import time
from dataclasses import dataclass

USUAL_SECONDS = 0.035  # of one start on an idle machine
_STARTS = 5
_MOST = 10.0


@dataclass(frozen=True)
class Pace:
    """`factor`: how much longer things take here than on an idle machine, from 1 to 10."""

    factor: float = 1.0

    @classmethod
    def measured(cls):
        """From starts of an interpreter: they need what workers need, a core, page faults and files."""
        times = []
        for _ in range(_STARTS):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-S", "-c", "sum(range(300_000))"], check=True)
            times.append(time.perf_counter() - start)
        return cls(min(max(1.0, sorted(times)[_STARTS // 2] / USUAL_SECONDS), _MOST))
