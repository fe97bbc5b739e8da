"""An average run of a pattern: the times at which each process works. Pure functions over a recording."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reactor.recording.graph import plan_of
from reactor.recording.patterns import CREATION

TYPE_CHECKING = False  # like that of typing, without the import
if TYPE_CHECKING:
    from collections.abc import Mapping

    from reactor.recording.patterns import Operation, Pattern, Recording, Timing

_SHARE = 0.05  # patterns with less of the driver's time are not looked at
_RUNS = 3  # nor those that ran less often: they are the program's start
_MOST = 3


@dataclass(frozen=True)
class TimedCall:
    """One call of a round, in seconds since the wait before.

    Attributes:
        name, site: "Env#3.step" or "task:f", and where it was called.
        lane: the process that runs it: its actor's name, "worker 0" of actors that share one, or "tasks 0".
        start, end: when it runs; `end - start` is the mean over all its calls.
        on_path: whether it is one of the calls of `Round.path`.
    """

    name: str
    site: str
    lane: str
    start: float
    end: float
    on_path: bool


@dataclass(frozen=True)
class Round:
    """One run of a pattern on average, in seconds.

    Attributes:
        pattern: its Pattern.
        total, own: from the wait before to the end of its own; what the caller's own code takes of that.
        steps: a TimedCall each, in the order of the calls.

    The recording has the means of calls, and not when they ran. So each call is taken to be made when its share of the caller's own code has run,
    and begins as soon as its arguments are there and its process is free. Waits for a core, wake-ups and the passing of values are in `total`
    alone. Calls of one process are one after the other here, also where a worker runs one while another one sleeps.
    """

    pattern: Pattern
    total: float
    own: float
    steps: tuple[TimedCall, ...]

    @property
    def path(self) -> tuple[TimedCall, ...]:
        """The calls that run one after the other because one needs the result of the other or the same actor, and take longest."""
        return tuple(step for step in self.steps if step.on_path)

    @property
    def wait(self) -> float:
        return self.total - self.own

    @property
    def work(self) -> float:
        """The time of all calls together."""
        return sum(step.end - step.start for step in self.steps)


def main_rounds(recording: Recording, cores: int) -> list[Round]:
    """The Rounds of the driver's patterns that ran again and again and took most of its time, at most three; the longest in all comes first."""
    driver = [s for s in recording.patterns if s.caller == "driver" and s.seconds > 0]
    whole = sum(s.seconds for s in driver)
    longest = sorted((s for s in driver if s.runs >= _RUNS), key=lambda s: -s.seconds)[:_MOST]
    return [round_of(s, recording.measured, recording.workers, cores) for s in longest if s.seconds > _SHARE * whole]


def round_of(pattern: Pattern, measured: Mapping[str, Timing], workers: Mapping[str, int], cores: int) -> Round:
    """The Round of a pattern. `measured` and `workers` are those of its Recording; tasks run in as many processes as there are `cores`."""
    mean = {name: t.seconds / t.calls for name, t in measured.items() if t.calls and t.seconds is not None}
    total, own = pattern.seconds / pattern.runs, max(pattern.seconds - pattern.waited, 0.0) / pattern.runs
    steps: dict[int, TimedCall] = {}
    ends: list[float] = []  # of each operation
    # Of each operation: the longest chain to its end, and the operation before it there.
    chains: list[tuple[float, int | None]] = []
    free: dict[str, float] = {}  # when each process is
    plan = plan_of(pattern)
    for k, operation in enumerate(pattern.operations):
        runs = not operation.is_put and operation.method != CREATION
        took = mean.get(operation.qualified, 0.0) if runs else 0.0
        before = plan.steps[k].waits_for
        last = max(before, key=lambda j: chains[j][0], default=None)
        chains.append(((chains[last][0] if last is not None else 0.0) + took, last))
        start = max([own * (k + 1) / (len(pattern.operations) + 1), *(ends[j] for j in before)])
        if runs:
            lane = _lane(operation, workers, free, cores)
            start = max(start, free.get(lane, 0.0))
            free[lane] = start + took
            steps[k] = TimedCall(operation.name, operation.site, lane, start, start + took, False)
        ends.append(start + took)
    k = max(range(len(chains)), key=lambda j: chains[j][0], default=None)
    while k is not None:
        if k in steps:
            steps[k] = replace(steps[k], on_path=True)
        k = chains[k][1]
    return Round(pattern, total, own, tuple(steps.values()))


def _lane(operation: Operation, workers: Mapping[str, int], free: Mapping[str, float], cores: int) -> str:
    if operation.target in workers:
        return f"worker {workers[operation.target]}"
    if "#" in operation.target:
        return operation.target
    return min((f"tasks {n}" for n in range(max(cores, 1))), key=lambda lane: free.get(lane, 0.0))
