"""Time one group of rows on one side: the process that the runner starts.

    python -m benchmarks.measure PLAN.json OUT

PLAN holds what stands for Ray, the rows with their workloads, and the timing; OUT gets one line of JSON per
event, which is all that the runner sees of this process.
"""

import gc
import importlib
import json
import statistics
import sys
import time
import traceback
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Seconds of discarded warm-up, and how many samples of how many seconds each."""

    warm_up: float
    samples: int
    seconds: float


def time_operation(operation, work, timing, at_least, once):
    """Seconds per unit of work, one figure per sample; warm-up and samples are `at_least` so many operations."""
    if work is None:
        return [operation() for _ in range(1 if once else timing.samples)]
    durations = []
    warm_until = time.perf_counter() + timing.warm_up
    while (start := time.perf_counter()) < warm_until or len(durations) < at_least:
        operation()
        durations.append(time.perf_counter() - start)
    # The median, because the first operations make what later ones use again.
    repeats = max(at_least, round(timing.seconds / statistics.median(durations)))
    found = []
    for _ in range(timing.samples):
        start = time.perf_counter()
        for _ in range(repeats):
            operation()
        found.append((time.perf_counter() - start) / (repeats * work))
    return found


def measure(ray, rows, timing, tell):
    for row in rows:
        tell(event="start", row=row["name"])
        try:
            module, name = row["workload"]
            operation, work = getattr(importlib.import_module(module), name)(ray)
            samples = time_operation(operation, work, timing, row["at_least"], row["once"])
            tell(event="samples", row=row["name"], samples=samples)
        except Exception as error:
            traceback.print_exc()
            reason = str(error).strip().splitlines() or [""]
            tell(event="failure", row=row["name"], reason=f"{type(error).__name__}: {reason[0]}")
        # The row's actors end with the last reference to them, before the next row makes its own. A Compiled
        # Graph, which keeps its actors busy, is in cycles.
        operation = None
        gc.collect()


def main():
    with open(sys.argv[1]) as file:
        plan = json.load(file)
    with open(sys.argv[2], "a", buffering=1) as out:

        def tell(**event):
            out.write(json.dumps(event) + "\n")

        ray = importlib.import_module(plan["module"])
        ray.init(**plan["init"])
        measure(ray, plan["rows"], Timing(**plan["timing"]), tell)
        tell(event="rows done")
        ray.shutdown()


if __name__ == "__main__":
    main()
