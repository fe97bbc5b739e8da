"""Hill climbing over a small grid of settings, by measurements that are noisy. It knows no process and no clock."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from statistics import fmean
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FIRST = 3  # measurements of the first setting before another one is tried
_MOST = 5  # measurements of a trial
_LAST = 6  # measurements of the best setting that count: what it does changes as the program goes on
_LEAST_GAIN = math.log(1.01)  # what is smaller is not worth a change
_CERTAIN = 2.0  # standard errors of a difference that is not noise
_USUAL_NOISE, _WEIGHT = 0.04, 4  # assumed before there are measurements, and how many of them this counts for
_DRIFT = math.log(1.25)  # a change of the best setting's score that opens the search again
_CALM = 12  # measurements between the end of a search and the next one, at least; doubled by each search


@dataclass(frozen=True)
class Setting:
    """What the controller may change.

    samplers: processes with environments. environments: of each of them. chunk: frames that a sampler sends at once.
    batch: frames of one update. threads: torch's threads of the learner.
    """

    samplers: int
    environments: int
    chunk: int
    batch: int
    threads: int

    def __str__(self) -> str:
        return ", ".join(f"{name} {getattr(self, name)}" for name in KNOBS)


#: The names of what may be changed, in the order in which changes are tried.
KNOBS: tuple[str, ...] = tuple(field.name for field in fields(Setting))


@dataclass(frozen=True)
class Verdict:
    """What the measurement of a trial has shown.

    action: "keep" the setting that was tried, "return" to the one before, "hold" the best setting: the search has ended; "open" the search again:
    the score has drifted. setting: from now on. tried: the setting that was measured. gain: of the logarithm of the score against the best setting.
    noise: standard deviation of the logarithm of one measurement. error: standard error of `gain`.
    """

    action: Literal["keep", "return", "hold", "open"]
    setting: Setting
    tried: Setting
    gain: float = 0.0
    noise: float = 0.0
    error: float = 0.0


class Climber:
    """Searches for the setting with the highest score, a neighbour at a time.

    A neighbour differs in one value by one or two places of the list of values. Between trials the best setting is measured again, because scores drift. A
    trial is kept if its score is higher by more than the noise of the measurements; else the setting before returns. No setting is tried
    twice in a search, so that it ends: when no neighbour of the best setting is left, or after `trials`. A search opens again only if the score of
    the best setting changes by a quarter, and by four times the noise.

    Attributes:
        setting: what is to be measured now. best: the best setting so far. holding: whether the search has ended.
    """

    def __init__(self, values: Mapping[str, Sequence[int]], start: Setting, trials: int = 40) -> None:
        """values: {name of a field of Setting: the values that it may have, ascending}; `start` has one of each."""
        self._values = {name: tuple(values[name]) for name in KNOBS}
        self._trials = trials
        self._calm = _CALM
        self.setting: Setting = start
        self._open(start)

    def observe(self, score: float) -> Verdict | None:
        """Takes a measurement of `setting`, > 0. Returns a verdict if that decides something; `setting` may then be another one."""
        scores = self._scores.setdefault(self.setting, [])
        scores.append(math.log(score))
        if self.holding:
            return self._watch(scores)
        if self.setting != self.best:
            return self._judge()
        if len(scores) < _FIRST:
            return None
        return self._try_next()

    def end(self) -> Verdict:
        """Ends the search now."""
        self.setting, self.holding = self.best, True
        return Verdict("hold", self.best, self.best, noise=self.noise())

    def noise(self) -> float:
        """Standard deviation of the logarithm of a measurement, over the measurements of all settings."""
        squares, freedom = _WEIGHT * _USUAL_NOISE**2, _WEIGHT
        for scores in self._scores.values():
            mean = fmean(scores)
            squares += sum((score - mean) ** 2 for score in scores)
            freedom += len(scores) - 1
        return math.sqrt(squares / freedom)

    def _open(self, best: Setting) -> None:
        self.best: Setting = best
        self.holding: bool = False
        self._scores: dict[Setting, list[float]] = {}
        self._tried = {best}
        self._step: tuple[str, int] = (KNOBS[0], 1)  # of the last trial: the knob, and how many places it was turned
        self._since: list[float] = []

    def _try_next(self) -> Verdict | None:
        left = [setting for _, setting in self._neighbours() if setting not in self._tried]
        if not left or len(self._tried) > self._trials:
            return self.end()
        self.setting = left[0]
        self._tried.add(self.setting)
        self._step = next(step for step, setting in self._neighbours() if setting == self.setting)
        return None

    def _neighbours(self) -> list[tuple[tuple[str, int], Setting]]:
        """The last step first, then the other steps, beginning with those of the same knob."""
        name, places = self._step
        at = KNOBS.index(name)
        direction = 1 if places > 0 else -1
        found: list[tuple[tuple[str, int], Setting]] = []
        for knob in (*KNOBS[at:], *KNOBS[:at]):
            values = self._values[knob]
            now = values.index(getattr(self.best, knob))
            first = direction if knob == name else 1
            for step in (2 * first, first, -2 * first, -first):
                if 0 <= now + step < len(values):
                    found.append(((knob, step), replace(self.best, **{knob: values[now + step]})))
        return found

    def _judge(self) -> Verdict | None:
        tried, best = self._scores[self.setting], self._scores[self.best][-_LAST:]
        gain, noise = fmean(tried) - fmean(best), self.noise()
        error = noise * math.sqrt(1 / len(tried) + 1 / len(best))
        better = gain > max(_CERTAIN * error, _LEAST_GAIN)
        worse = gain < (0 if len(tried) > 1 else -error)
        if not (better and len(tried) > 1) and not worse and len(tried) < _MOST:
            return None
        before, measured = self.best, self.setting
        if better:
            self.best = self.setting
        self.setting = self.best
        return Verdict("keep" if self.best != before else "return", self.best, measured, gain, noise, error)

    def _watch(self, scores: list[float]) -> Verdict | None:
        self._since.append(scores.pop())
        if len(self._since) < self._calm:
            return None
        noise, reference = self.noise(), fmean(scores[-_LAST:])
        drift = fmean(self._since[-_LAST:]) - reference
        if abs(drift) <= max(_DRIFT, 4 * noise):
            return None
        self._calm *= 2
        self._open(self.best)
        return Verdict("open", self.best, self.best, drift, noise)
