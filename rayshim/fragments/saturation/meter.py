"""Rates and idle shares of the stages, from the times at which calls began and ended."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rayshim.fragments.saturation.climbing import Setting

_CALLS = 4  # of each stage in a window, at least


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
        """Starts with a setting. Nothing counts until all its processes have ended a call of it."""
        self._setting = setting
        self._missing = {*range(setting.samplers), None}
        self._restart()

    def add(self, sampler: int | None, work: Work) -> Window | None:
        """Takes a call of that sampler, None: of the learner, at the current setting. Returns a window when one is complete."""
        if self._missing:
            self._missing.discard(sampler)
            return None
        (self._updates if sampler is None else self._samples).append(work)
        if min(len(self._samples), len(self._updates)) < _CALLS:
            return None
        if min(_span(self._samples), _span(self._updates)) < self._seconds:
            return None
        window = self._window()
        self._restart()
        return window

    def _restart(self) -> None:
        self._samples: list[Work] = []
        self._updates: list[Work] = []

    def _window(self) -> Window:
        sampling, updating = _span(self._samples), _span(self._updates)
        # The first call of a stage marks where its stretch begins.
        samples, updates = (sorted(some, key=lambda work: work.end)[1:] for some in (self._samples, self._updates))
        busy = sum(work.end - work.begin for work in samples) / sampling / self._setting.samplers
        learning = sum(work.end - work.begin for work in updates) / updating
        used = sum(work.processor for work in samples) / sampling + sum(work.processor for work in updates) / updating
        return Window(
            self._setting,
            sum(work.frames for work in samples) / sampling,
            sum(work.frames for work in updates) / updating,
            max(0.0, 1 - busy),
            max(0.0, 1 - learning),
            max(0.0, 1 - used / self._cores),
            max(sampling, updating),
        )


def _span(works: list[Work]) -> float:
    """From the end of the first call to that of the last."""
    ends = [work.end for work in works]
    return max(ends) - min(ends)
