"""An ordinary Ray program for a comparison of Ray and rayshim: time, memory, and whether both print the same.

    python -m rayshim compare examples/compare_with_ray.py     # on both; only on rayshim if Ray is not installed
    python -m rayshim examples/compare_with_ray.py             # on rayshim
    python examples/compare_with_ray.py                        # on Ray

The table of the comparison needs: pip install "rayshim[compare]"
"""

import sys

import numpy as np
import ray


@ray.remote
class Rollout:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def sample(self, weights):
        """Returns the value of a random observation under `weights`."""
        return float(self.random.standard_normal(len(weights)) @ weights)


def main(rounds=200, actors=8):
    ray.init(logging_level="WARNING")
    rollouts = [Rollout.remote(seed) for seed in range(actors)]
    weights = np.ones(64)
    for _ in range(rounds):
        shared = ray.put(weights)
        values = ray.get([rollout.sample.remote(shared) for rollout in rollouts])
        weights = weights * (1 - 0.001 * np.tanh(np.mean(values)))
    print(f"{rounds} rounds of {actors} calls, weight {weights[0]:.9f}")
    ray.shutdown()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
