"""Rates and idle shares of the stages, from the times at which calls began and ended."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rayshim.fragments.saturation.climbing import Setting

_CALLS = 3  # of each process in a window, at least


class Work(NamedTuple):
    """One call of a sampler or of the learner. begin, end: seconds of the machine's clock. processor: seconds of its threads. frames: sampled or updated."""

    frames: int
    begin: float
    end: float
    processor: float


class Watch:
    """Measures one call in the process that runs it; `clock=False`: does not look at the clock, so that results do not depend on it."""

    def __init__(self, clock: bool) -> None:
        self._now = (time.perf_counter, time.process_time) if clock else (float, float)
        self._began = [now() for now in self._now]

    def work(self, frames: int) -> Work:
        end, processor = (now() for now in self._now)
        return Work(frames, self._began[0], end, processor - self._began[1])


@dataclass(frozen=True)
class Window:
    """What a setting did in a stretch of time.

    sampled, updated: frames a second. samplers_idle, learner_idle: shares of the time in which these processes had no call. machine_idle: share of the
    processor time of all cores that went neither into sampling nor into updates. seconds: its length.
    """

    setting: Setting
    sampled: float
    updated: float
    samplers_idle: float
    learner_idle: float
    machine_idle: float
    seconds: float

    def score(self, low: float, high: float) -> float:
        """What the controller maximises: the geometric mean of sampled and updated frames a second, where neither counts for more than what the ratio
        lets it sustain with the other."""
        sampled = min(self.sampled, self.updated / low) if low else self.sampled
        return math.sqrt(sampled * min(self.updated, high * self.sampled))


class Meter:
    """Makes windows of one setting after the other."""

    def __init__(self, seconds: float, cores: int) -> None:
        """seconds: of a window, at least."""
        self._seconds, self._cores = seconds, cores

    def begin(self, setting: Setting) -> None:
        """Starts with a setting. The first call of each process does not count: it may have begun before."""
        self._setting = setting
        self._restart()

    def add(self, sampler: int | None, work: Work) -> Window | None:
        """Takes a call of that sampler, None: of the learner, at the current setting. Returns a window when one is complete."""
        self._works[sampler].append(work)
        if any(len(works) < _CALLS or _span(works) < self._seconds for works in self._works.values()):
            return None
        window = self._window()
        self._restart()
        return window

    def _restart(self) -> None:
        self._works: dict[int | None, list[Work]] = {process: [] for process in (*range(self._setting.samplers), None)}

    def _window(self) -> Window:
        """A process's stretch is from the end of its first call to that of its last one."""
        rate, busy, processor = {}, {}, {}
        for process, works in self._works.items():
            span, counted = _span(works), works[1:]
            rate[process] = sum(work.frames for work in counted) / span
            busy[process] = sum(work.end - work.begin for work in counted) / span
            processor[process] = sum(work.processor for work in counted) / span
        return Window(
            self._setting,
            sampled=sum(rate.values()) - rate[None],
            updated=rate[None],
            samplers_idle=max(0.0, 1 - (sum(busy.values()) - busy[None]) / self._setting.samplers),
            learner_idle=max(0.0, 1 - busy[None]),
            machine_idle=max(0.0, 1 - sum(processor.values()) / self._cores),
            seconds=max(map(_span, self._works.values())),
        )


def _span(works: list[Work]) -> float:
    """From the end of the first call to that of the last."""
    return works[-1].end - works[0].end
