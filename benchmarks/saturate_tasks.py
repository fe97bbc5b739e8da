"""Tasks of `python -m benchmarks saturate`, and the process that compares the controller's setting with a full grid of settings."""

import itertools
import json
import statistics
import sys
import time

import gymnasium

from rayshim.fragments import Setting, deploy, saturating
from rayshim.fragments.algorithms.dqn import DQN
from rayshim.fragments.algorithms.sac import SAC

RATIO = (4.0, 256.0)
VALUES = {
    "samplers": (1, 2, 3, 6),
    "environments": (1, 4, 16),
    "chunk": (32, 128),
    "batch": (256,),
    "threads": (1, 2),
}
WINDOW = 0.75
FIRST, LAST, ROUNDS, FINALISTS = 2, 3, 3, 4  # windows of each setting of the grid; of each finalist in each round


class Slow(gymnasium.Wrapper):
    """Each step waits, as for a simulator in another process."""

    def __init__(self, environment, seconds):
        super().__init__(environment)
        self.seconds = seconds

    def step(self, action):
        time.sleep(self.seconds)
        return self.env.step(action)


class SlowSAC(SAC):
    """SAC in environments whose step waits for 2 ms."""

    def make_environment(self):
        return Slow(super().make_environment(), 0.002)


TASKS = {
    "Pendulum": lambda: SAC(),
    "LunarLander": lambda: DQN(environment="LunarLander-v3", batch=256),
    "HalfCheetah": lambda: SAC(environment="HalfCheetah-v5", hidden=256, learning_rate=3e-4),
    "Hopper": lambda: SAC(environment="Hopper-v5", hidden=256, learning_rate=3e-4),
    "BipedalWalker": lambda: SAC(environment="BipedalWalker-v3", hidden=256, learning_rate=3e-4),
    "2ms": lambda: SlowSAC(),
}


def found(task, seconds):
    """(the setting that the controller finds within `seconds`, the seconds of its search)"""
    with deploy(TASKS[task](), saturating(RATIO, **VALUES, evaluate_every=0, window=WINDOW, seconds=seconds)) as run:
        for progress in run.train(steps=2**62):
            if run.decisions[-1].action == "hold":
                return run.decisions[-1].setting, progress.seconds
    raise AssertionError


def measured(task, setting, windows):
    """The windows of that setting."""
    fixed = {name: getattr(setting, name) for name in VALUES}
    with deploy(TASKS[task](), saturating(RATIO, **fixed, evaluate_every=0, window=WINDOW)) as run:
        for _ in run.train(steps=2**62):
            if len(run.windows) > windows:
                return run.windows[1:]
    raise AssertionError


def score(windows):
    return statistics.median(window.score(*RATIO) for window in windows)


def compare(task, seconds):
    """The found setting against the best of the grid: a line for the JSON. The best few of a short pass over the grid, and the found one, are measured in
    turns again, because the highest of many noisy figures is too high."""
    setting, took = found(task, seconds)
    grid = [Setting(*values) for values in itertools.product(*VALUES.values())]
    first = {}
    for one in grid:
        first[one] = score(measured(task, one, FIRST))
    finalists = dict.fromkeys([setting, *sorted(grid, key=first.__getitem__, reverse=True)[:FINALISTS]])
    scores = {one: [] for one in finalists}
    windows = {one: [] for one in finalists}
    for _ in range(ROUNDS):
        for one in finalists:
            some = measured(task, one, LAST)
            windows[one] += some
            scores[one].append(score(some))
    medians = {one: statistics.median(values) for one, values in scores.items()}
    best = max(medians, key=medians.__getitem__)
    return {
        "task": task,
        "found": str(setting),
        "best": str(best),
        "share": medians[setting] / medians[best],
        "seconds": took,
        **{
            name: statistics.median(getattr(window, name) for window in windows[setting])
            for name in ("sampled", "updated", "samplers_idle", "learner_idle", "machine_idle")
        },
        "grid": [[str(one), value] for one, value in first.items()],
    }


def main():
    """python -m rayshim -m benchmarks.saturate_tasks SECONDS TASK ...: a line of JSON for each task."""
    import ray

    ray.init(num_cpus=8, logging_level="ERROR")
    for name in sys.argv[2:]:
        print(json.dumps(compare(name, float(sys.argv[1]))), flush=True)


def missing(task):
    """Why the task cannot be measured here, or None."""
    try:
        TASKS[task]().make_environment().close()
    except Exception as error:  # gymnasium raises its own, and the packages' own
        return str(error).splitlines()[0]
    return None


if __name__ == "__main__":
    main()
