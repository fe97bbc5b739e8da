"""Gymnasium environments that step in parallel, one actor per environment.

    python examples/parallel_environments.py [ENVIRONMENTS] [STEPS]

Needs gymnasium: pip install "rayshim[rl]"
"""

import sys
import time

import gymnasium
import numpy as np

import rayshim as ray


@ray.remote
class Environment:
    def __init__(self, name, seed):
        self.env = gymnasium.make(name)
        self.observation, _ = self.env.reset(seed=seed)

    def observe(self):
        return self.observation

    def step(self, action):
        """Returns (observation, whether the episode has ended). After an end, starts the next episode."""
        self.observation, _, terminated, truncated, _ = self.env.step(action)
        if terminated or truncated:
            self.observation, _ = self.env.reset()
        return self.observation, terminated or truncated


def main(environments=4, steps=500):
    ray.init(logging_level="WARNING")
    actors = [Environment.remote("CartPole-v1", seed) for seed in range(environments)]
    observations = np.stack(ray.get([actor.observe.remote() for actor in actors]))
    ended, begun = 0, time.perf_counter()
    for _ in range(steps):
        actions = (observations[:, 2] + observations[:, 3] > 0).astype(
            int
        )  # push the cart towards the side to which the pole falls
        results = ray.get([actor.step.remote(int(action)) for actor, action in zip(actors, actions)])
        observations = np.stack([observation for observation, _ in results])
        ended += sum(end for _, end in results)
    seconds = time.perf_counter() - begun
    print(f"{environments * steps} steps, {ended} episodes ended")
    print(f"{environments * steps / seconds:,.0f} steps/s", file=sys.stderr)
    print(ray.report(), file=sys.stderr)  # how many of the calls followed a learned pattern
    ray.shutdown()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
