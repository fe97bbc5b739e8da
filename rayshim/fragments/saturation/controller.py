"""Chooses the setting: by measurement, or as an earlier run has decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from rayshim.fragments.saturation.climbing import KNOBS, Climber, Setting, Verdict
from rayshim.fragments.saturation.decisions import Decision
from rayshim.fragments.saturation.meter import Meter, Window, Work

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Controller(Protocol):
    """Chooses the setting.

    setting: that of calls that start now. decisions: all so far. windows: what was measured. measures: whether calls are to be measured.
    """

    setting: Setting
    decisions: list[Decision]
    windows: list[Window]
    measures: bool

    def ended(self, sampler: int | None, setting: Setting, work: Work, sampled: int) -> None:
        """A call of a sampler, or of the learner (None), has ended; `setting` was that at its start. sampled: frames so far."""
        ...


class Searching:
    """Searches for the best setting, and prints its decisions."""

    measures = True

    def __init__(
        self,
        values: Mapping[str, Sequence[int]],
        start: Setting,
        ratio: tuple[float, float],
        *,
        window: float,
        seconds: float,
        cores: int,
    ) -> None:
        """values, start: as Climber takes them. window: seconds of one. seconds: of a search, at most."""
        self.setting: Setting = start
        self.windows: list[Window] = []
        self.decisions: list[Decision] = []
        self._climber = Climber(values, start)
        self._ratio, self._seconds = ratio, seconds
        self._meter = Meter(window, cores)
        self._meter.begin(start)
        self._began: float | None = None
        self._learns = False
        self._decide(0, "start", f"starts with {start}")

    def ended(self, sampler: int | None, setting: Setting, work: Work, sampled: int) -> None:
        self._learns = self._learns or (sampler is None and work.frames > 0)
        if not self._learns or setting != self.setting:
            return  # sampling alone is quicker than sampling beside a learner
        window = self._meter.add(sampler, work)
        if window is None:
            return
        self.windows.append(window)
        self._began = work.end - window.seconds if self._began is None else self._began
        verdict = self._climber.observe(window.score(*self._ratio))
        if verdict is None and not self._climber.holding and work.end - self._began > self._seconds:
            verdict = self._climber.end()
        if verdict is not None:
            self._decide(sampled, verdict.action, self._text(verdict), verdict.setting)
            self._began = None if verdict.action == "open" else self._began
        if self._climber.setting != self.setting:
            if verdict is None or verdict.setting != self._climber.setting:
                self._decide(sampled, "try", f"tries {_change(self.setting, self._climber.setting)}")
            self.setting = self._climber.setting
            self._meter.begin(self.setting)

    def _decide(self, sampled: int, action: str, text: str, setting: Setting | None = None) -> None:
        self.decisions.append(Decision(sampled, setting or self._climber.setting, action, text))
        if action != "try":  # its verdict has the figures
            print(f"saturate: {text}", flush=True)

    def _text(self, verdict: Verdict) -> str:
        measured = verdict.setting if verdict.action == "hold" else verdict.tried
        window = next(window for window in reversed(self.windows) if window.setting == measured)
        rates = f"{window.sampled:,.0f} sampled and {window.updated:,.0f} updated frames/s"
        idle = (
            f"idle: samplers {window.samplers_idle:.0%}, learner {window.learner_idle:.0%}, machine "
            f"{window.machine_idle:.0%}"
        )
        if verdict.action == "hold":
            return f"holds {verdict.setting}; {rates}; noise of a measurement {verdict.noise:.1%}"
        if verdict.action == "open":
            return f"the score has changed by {_percent(verdict.gain)}, searches again; {rates}"
        word = "kept" if verdict.action == "keep" else "not kept"
        gain = f"score {_percent(verdict.gain)} ± {verdict.error:.1%}"
        return f"{_change(self._before(), verdict.tried)}: {gain}, {word}; {rates}; {idle}"

    def _before(self) -> Setting:
        """The setting that was compared with the one that is tried now."""
        return next(decision.setting for decision in reversed(self.decisions) if decision.action != "try")


class Repeating:
    """Sets what an earlier run has decided, at the same numbers of sampled frames. It measures nothing."""

    measures = False

    def __init__(self, decisions: Sequence[Decision]) -> None:
        self.decisions: list[Decision] = [decisions[0]]
        self.windows: list[Window] = []
        self.setting: Setting = decisions[0].setting
        self._left = list(decisions[1:])

    def ended(self, sampler: int | None, setting: Setting, work: Work, sampled: int) -> None:
        while self._left and self._left[0].frames <= sampled:
            self.decisions.append(self._left.pop(0))
            self.setting = self.decisions[-1].setting


def _change(before: Setting, after: Setting) -> str:
    return ", ".join(
        f"{knob} {getattr(before, knob)} -> {getattr(after, knob)}"
        for knob in KNOBS
        if getattr(before, knob) != getattr(after, knob)
    )


def _percent(gain: float) -> str:
    """Of a difference of logarithms."""
    return f"{2.718281828459045**gain - 1:+.0%}"
