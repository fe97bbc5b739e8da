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


def searched(seed, noise):
    """(the climber after a minute on a machine, its verdicts, the machine)"""
    numbers = random.Random(seed)
    simulated = machine(numbers)
    climber = Climber(VALUES, START)
    return climber, climb(climber, simulated.rate, noise, numbers), simulated


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_minute_suffices_to_come_near_the_best_of_the_grid(noise):
    shares = []
    for seed in range(40):
        climber, _, simulated = searched(seed, noise)
        shares.append(simulated.rate(climber.best) / max(map(simulated.rate, GRID)))
    shares.sort()
    assert sum(share >= 0.95 for share in shares) >= 34
    assert shares[0] >= 0.8 and shares[20] >= 0.97


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.08])
def test_no_setting_is_tried_twice_and_the_search_ends(noise):
    for seed in range(20):
        numbers = random.Random(seed)
        simulated, climber = machine(numbers), Climber(VALUES, START)
        verdicts = climb(climber, simulated.rate, noise, numbers, 400)
        *trials, end = verdicts
        assert [verdict.action for verdict in verdicts].count("hold") == 1 and end.action == "hold"
        tried = [verdict.tried for verdict in trials]
        assert len({*tried, START}) == len(tried) + 1 <= 41
        kept = [verdict.setting for verdict in trials if verdict.action == "keep"]
        assert end.setting == climber.best == [START, *kept][-1]
        changes = [sum(getattr(v.tried, name) != getattr(b, name) for name in KNOBS) for v, b in steps(trials)]
        assert set(changes) == {1}


def steps(trials):
    """Each trial with the setting that was the best before it."""
    best = START
    for verdict in trials:
        yield verdict, best
        best = verdict.setting


def test_noise_alone_keeps_hardly_anything():
    kept = 0
    for seed in range(40):
        climber = Climber(VALUES, START)
        kept += sum(verdict.action == "keep" for verdict in climb(climber, lambda _: 1000.0, 0.05, random.Random(seed)))
    assert (
        kept <= 40
    )  # of some 800 trials: 2.5% of the normal distribution is two standard errors above the mean, for each of four looks


def test_a_change_of_the_machine_opens_the_search_again_and_less_often_each_time():
    numbers = random.Random(1)
    simulated = machine(numbers)
    climber = Climber(VALUES, START)
    verdicts = climb(climber, simulated.rate, 0.02, numbers, 400)
    assert [verdict.action for verdict in verdicts].count("open") == 0
    slower = replace(simulated, step=simulated.step * 50)
    verdicts = climb(climber, slower.rate, 0.02, numbers, 400)
    assert verdicts[0].action == "open" and verdicts[0].gain < 0
    assert [verdict.action for verdict in verdicts].count("open") == 1 and verdicts[-1].action == "hold"


def test_one_allowed_setting_is_held():
    only = {name: (getattr(START, name),) for name in KNOBS}
    assert [verdict.action for verdict in climb(Climber(only, START), lambda _: 5.0, 0.0, random.Random(0), 10)] == [
        "hold"
    ]


def test_a_search_that_is_ended_takes_the_best_so_far():
    climber = Climber(VALUES, START)
    for _ in range(3):
        climber.observe(1.0)
    assert climber.setting != START and not climber.holding
    verdict = climber.end()
    assert (verdict.action, verdict.setting, climber.setting) == ("hold", START, START) and climber.holding
