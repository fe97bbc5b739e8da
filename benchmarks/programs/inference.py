"""Multi-agent inference: each agent of a traffic junction is an actor that holds the agent's policy network.

    python benchmarks/programs/inference.py              # on Ray
    python -m rayshim benchmarks/programs/inference.py   # on rayshim

The last experiment of "Efficient Parallel Reinforcement Learning Framework using the Reactor Model". The junction is a
small stand-in of our own for the paper's environment: two roads cross on a grid, and a car may go on or wait. In each step every
actor gets its car's observation and answers with an action from an obs-64-2 network; a round is --steps steps.
"""

import numpy as np
import ray
import torch
from measured import Measured, options

STYLES = ("naive", "compiled", "bare")
SIDE = 7
LENGTH = 2 * SIDE
VIEW = 2
OBSERVATION = 4 + (2 * VIEW + 1) ** 2


class Junction:
    """Cars on two one-way roads that cross in the middle of a grid.

    `step` takes an action per car (1: go on, 0: wait) and gives the observations, float32 [cars, OBSERVATION], and the rewards,
    float [cars]: -10 for a collision, -0.01 for each step of waiting, 1 for leaving; who leaves begins anew.
    """

    def __init__(self, cars, seed):
        self.random = np.random.default_rng(seed)
        self.road = np.arange(cars) % 2
        self.place = np.zeros(cars, np.int64)
        self.waited = np.zeros(cars, np.int64)

    def observations(self):
        road, along = self.road, np.clip(self.place, 0, SIDE - 1)
        row, column = np.where(road == 0, SIDE // 2, along), np.where(road == 0, along, SIDE // 2)
        grid = np.zeros((SIDE + 2 * VIEW, SIDE + 2 * VIEW), np.float32)
        np.add.at(grid, (row + VIEW, column + VIEW), 1.0)
        seen = [grid[r : r + 2 * VIEW + 1, c : c + 2 * VIEW + 1].ravel() for r, c in zip(row, column, strict=True)]
        own = np.stack([road, row / SIDE, column / SIDE, self.waited / 10], axis=1)
        return np.concatenate([own, seen], axis=1).astype(np.float32)

    def step(self, actions):
        go = np.asarray(actions)
        self.place += go
        self.waited = np.where(go, 0, self.waited + 1)
        cell = self.place * 2 + self.road
        cell[self.place == SIDE // 2] = -1
        _, index, count = np.unique(cell, return_inverse=True, return_counts=True)
        rewards = np.where(count[index] > 1, -10.0, 0.0) - 0.01 * (go == 0)
        left = self.place >= SIDE
        rewards[left] = 1.0
        self.place[left] = 0
        self.road[left] = self.random.integers(2, size=left.sum())
        return self.observations(), rewards


class Agent:
    def __init__(self, seed):
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        self.random = np.random.default_rng(seed)
        self.network = torch.nn.Sequential(torch.nn.Linear(OBSERVATION, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))

    def ready(self):
        return True

    def act(self, observation):
        """An action drawn from the policy, and the logits."""
        with torch.inference_mode():
            # What arrives is read-only, of which torch warns.
            logits = self.network(torch.from_numpy(observation.copy())).numpy()
        chance = 1.0 / (1.0 + np.exp(logits[0] - logits[1]))
        return int(self.random.random() < chance), logits


def compiled(actors):
    from ray.dag import InputNode, MultiOutputNode

    with InputNode() as given:
        graph = MultiOutputNode([actor.act.bind(given[n]) for n, actor in enumerate(actors)])
    return graph.experimental_compile()


def deciding(options):
    """A function from the agents' observations to their (action, logits)."""
    if options.style == "bare":
        plain = [Agent(seed) for seed in range(options.agents)]
        return lambda seen: [agent.act(observation) for agent, observation in zip(plain, seen, strict=True)]
    ray.init(include_dashboard=False)
    actor_class = ray.remote(Agent)
    actors = [actor_class.remote(seed) for seed in range(options.agents)]
    ray.get([actor.ready.remote() for actor in actors])
    if options.style == "compiled":
        graph = compiled(actors)
        return lambda seen: ray.get(graph.execute(*seen))
    return lambda seen: ray.get(
        [actor.act.remote(observation) for actor, observation in zip(actors, seen, strict=True)]
    )


def run(measured, options):
    junction = Junction(options.agents, seed=0)
    decide = deciding(options)
    measured.ready()
    observations, decisions = junction.observations(), None
    for _ in measured.rounds():
        trace = []
        with measured.clock():
            for _ in range(options.steps):
                # A Compiled Graph's results are views of its buffers, to be let go before it runs again.
                decisions = None
                decisions = decide(observations)
                actions = [action for action, _ in decisions]
                observations, rewards = junction.step(actions)
                trace.append((actions, rewards))
        measured.see(trace, observations, [logits for _, logits in decisions])


if __name__ == "__main__":
    chosen = options(__doc__, agents=4, steps=50, style=STYLES)
    with Measured.of(chosen) as measured:
        run(measured, chosen)
