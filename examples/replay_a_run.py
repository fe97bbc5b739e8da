"""Records a run, replays it, and finds the first call that differs in another run.

    python examples/replay_a_run.py

The actors draw random numbers, so two runs differ. A replay has the same random state, the same order of calls and the same timeouts as the
recorded run, so it computes the same.
"""

import random
import subprocess
import sys
import tempfile

import rayshim as ray


@ray.remote
class Explorer:
    """Walks at random and reports to a scoreboard."""

    def __init__(self, scoreboard):
        self.scoreboard, self.place = scoreboard, 0

    def walk(self, steps):
        self.place += sum(random.choice((-1, 1)) for _ in range(steps))
        return ray.get(self.scoreboard.enter.remote(self.place))


@ray.remote
class Scoreboard:
    def __init__(self):
        self.best = 0

    def enter(self, place):
        self.best = max(self.best, abs(place))
        return self.best


def program(**how):
    """The program to repeat; `how` are arguments of `init`. Returns its results."""
    ray.init(logging_level="WARNING", **how)
    scoreboard = Scoreboard.remote()
    explorers = [Explorer.remote(scoreboard) for _ in range(3)]
    results = [ray.get([explorer.walk.remote(100) for explorer in explorers]) for _ in range(3)]
    ray.shutdown()
    return results


def main():
    with tempfile.TemporaryDirectory() as folder:
        first, other = f"{folder}/first", f"{folder}/other"
        recorded = program(record=first, seed=1)
        print("replay computes the same:", program(replay=first) == recorded)
        print("another seed computes the same:", program(record=other, seed=2) == recorded)
        sys.stdout.flush()
        subprocess.run([sys.executable, "-m", "rayshim", "diff", "first", "other"], cwd=folder, check=False)


if __name__ == "__main__":
    main()
