"""The controller's search, on simulated machines whose measurements are noisy."""

import itertools
import math
import random
from dataclasses import dataclass, replace

import pytest

pytest.importorskip("torch")  # which the package rayshim.fragments imports

from rayshim.fragments.saturation.climbing import KNOBS, Climber, Setting

VALUES = {
    "samplers": (1, 2, 3, 4, 6, 8),
    "environments": (1, 2, 4, 8, 16, 32),
    "chunk": (16, 32, 64, 128, 256),
    "batch": (256, 512, 1024),
    "threads": (1, 2, 4),
}
START = Setting(2, 4, 64, 256, 1)
GRID = [Setting(*values) for values in itertools.product(*VALUES.values())]
MEASUREMENTS = 80  # of 0.75 s: a minute


@dataclass
class Machine:
    """Costs in microseconds of a core. inference: of a batch. step: of an environment. waiting: of a step, without a core. call: of a chunk.
    update: of an update, frame: of each of its frames. ratio: updated by sampled frames."""

    cores: int
    inference: float
    step: float
    waiting: float
    call: float
    update: float
    frame: float
    parallel: float
    ratio: float

    def rate(self, setting):
        """Sampled frames a second."""
        sampling = self.inference / setting.environments + self.step + self.call / setting.chunk
        speedup = 1 / (1 - self.parallel + self.parallel / min(setting.threads, self.cores))
        updating = self.update / setting.batch + self.frame / speedup
        learning = self.ratio * updating
        processor = sampling + learning * (1 + 0.1 * (setting.threads - 1))
        crowded = max(setting.samplers + setting.threads - self.cores, 0)
        limits = (
            setting.samplers / (sampling + self.waiting / setting.environments),
            1 / learning,
            self.cores / processor,
        )
        # Near two limits at once, neither is reached: queues are sometimes empty.
        return 1e6 * sum(limit**-8 for limit in limits) ** (-1 / 8) * 0.99**crowded


def machine(random):
    def between(low, high):
        return math.exp(random.uniform(math.log(low), math.log(high)))

    return Machine(
        cores=random.choice([2, 4, 8]),
        inference=between(50, 500),
        step=between(5, 2000),
        waiting=random.choice([0, 0, between(100, 5000)]),
        call=between(100, 1000),
        update=between(500, 4000),
        frame=between(0.5, 20),
        parallel=random.uniform(0, 0.9),
        ratio=between(1, 256),
    )


def climb(climber, rate, noise, random, measurements=MEASUREMENTS):
    """The verdicts."""
    verdicts = []
    for _ in range(measurements):
        verdict = climber.observe(rate(climber.setting) * math.exp(random.gauss(0, noise)))
        if verdict:
            verdicts.append(verdict)
    return verdicts


def shares(noise, machines):
    """What the search has reached on each machine, as a share of the best of the grid, and its verdicts."""
    for seed in range(machines):
        numbers = random.Random(seed)
        simulated = machine(numbers)
        climber = Climber(VALUES, START)
        verdicts = climb(climber, simulated.rate, noise, numbers)
        yield simulated.rate(climber.best) / max(map(simulated.rate, GRID)), verdicts, climber


if __name__ == "__main__":
    for noise in (0.0, 0.01, 0.02, 0.04, 0.08):
        found = list(shares(noise, 150))
        values = sorted(share for share, _, _ in found)
        n = len(values)
        print(noise, "min %.3f p5 %.3f p10 %.3f p25 %.3f med %.3f" % (values[0], values[n//20], values[n//10], values[n//4], values[n//2]), ">=.95: %.2f" % (sum(v>=.95 for v in values)/n), "held %.2f"%(sum(c.holding for _,_,c in found)/n), "trials %.1f" % (sum(sum(v.action in("keep","return") for v in vs) for _,vs,_ in found)/n))
