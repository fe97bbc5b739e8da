"""Counts frames, and says who may go on within the ratio of updated to sampled frames."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Ledger:
    """The frames of a run. What was sampled before learning began does not count in the ratio.

    low, high: the ratio, updated frames by sampled frames. low = 0: samplers never wait. granule: frames that one call of the learner updates, by the algorithm's settings.
    asked: frames that samplers were asked for. sampled: those that have come. delivered: those that went to the learner. updated: frames that the learner was
    asked to update. before: sampled frames with which the learner did not yet begin. learns: whether it has begun.
    """

    low: float
    high: float
    granule: int
    asked: int = 0
    sampled: int = 0
    delivered: int = 0
    updated: int = 0
    before: int = 0
    learns: bool = False

    def may_sample(self, frames: int, under_way: int) -> bool:
        """Whether a sampler may start on `frames` more. under_way: frames of all samplers that may be under way at once, which the ratio leaves out
        together with those that the next two calls of the learner need."""
        ahead = under_way + 2 * self.granule / self.high
        if not self.learns:
            return self.asked - self.delivered + frames <= ahead
        return self.low * (self.asked + frames - self.before - ahead) <= self.updated

    def may_update(self, frames: int) -> bool:
        """Whether the learner may start to update `frames` more."""
        return self.updated + frames <= self.high * (self.sampled - self.before)

    def waits(self) -> None:
        """The learner has got `delivered` frames, and does not begin."""
        self.before = self.delivered
