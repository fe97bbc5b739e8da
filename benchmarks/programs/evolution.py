"""Evolution strategies on CartPole-v1: actors try perturbed policies, the driver moves towards the better ones.

    python benchmarks/programs/evolution.py              # on Ray
    python -m rayshim benchmarks/programs/evolution.py   # on rayshim

After "Evolution Strategies as a Scalable Alternative to Reinforcement Learning": perturbations are told by their seeds,
mirrored, and weighted by rank. A round is a generation.
"""

import gymnasium
import numpy as np
import plain
import ray
from measured import Measured, options

PARAMETERS = 5
NOISE = 0.1
STEP = 0.2


class Evaluator:
    def __init__(self, index):
        self.index = index
        self.environment = gymnasium.make("CartPole-v1")

    def ready(self):
        return True

    def episode(self, parameters, seed):
        observation, _ = self.environment.reset(seed=seed)
        total, ended = 0.0, False
        while not ended:
            action = int(parameters[:4] @ observation + parameters[4] > 0.0)
            observation, reward, terminated, truncated, _ = self.environment.step(action)
            total += reward
            ended = terminated or truncated
        return total

    def evaluate(self, parameters, seeds):
        """The rewards of parameters + noise and parameters - noise for each seed, float64 [seeds, 2]."""
        found = np.empty((len(seeds), 2))
        for place, seed in enumerate(seeds):
            noise = NOISE * np.random.default_rng(seed).standard_normal(PARAMETERS)
            found[place] = self.episode(parameters + noise, seed), self.episode(parameters - noise, seed)
        return found


def compiled(evaluators):
    from ray.dag import InputNode, MultiOutputNode

    with InputNode() as given:
        graph = MultiOutputNode(
            [evaluator.evaluate.bind(given[0], given[n + 1]) for n, evaluator in enumerate(evaluators)]
        )
    return graph.experimental_compile()


def evaluating(ray, evaluators, style):
    """A function from the parameters and each evaluator's seeds to the rewards, float64 [seeds, 2]."""
    if style == "compiled":
        graph = compiled(evaluators)
        return lambda parameters, parts: np.concatenate(ray.get(graph.execute(parameters, *parts)))

    def evaluate(parameters, parts):
        shared = ray.put(parameters)
        return np.concatenate(
            ray.get(
                [evaluator.evaluate.remote(shared, part) for evaluator, part in zip(evaluators, parts, strict=True)]
            )
        )

    return evaluate


def run(measured, options, ray=ray):
    ray.init(include_dashboard=False)
    evaluator_class = ray.remote(Evaluator)
    evaluators = [evaluator_class.remote(index) for index in range(options.actors)]
    ray.get([evaluator.ready.remote() for evaluator in evaluators])
    evaluate = evaluating(ray, evaluators, options.style)
    parameters = np.zeros(PARAMETERS)
    measured.ready()
    for number in measured.rounds():
        with measured.clock():
            seeds = np.random.default_rng([1, number]).integers(1 << 30, size=options.actors * options.pairs).tolist()
            parts = [seeds[index :: options.actors] for index in range(options.actors)]
            rewards = evaluate(parameters, parts)
            ranks = (
                rewards.ravel().argsort(kind="stable").argsort(kind="stable").reshape(rewards.shape) / rewards.size
                - 0.5
            )
            noises = [np.random.default_rng(seed).standard_normal(PARAMETERS) for part in parts for seed in part]
            parameters = parameters + STEP * (ranks[:, 0] - ranks[:, 1]) @ np.array(noises) / len(noises)
        measured.see(rewards, parameters)
    measured.figure(reward=float(rewards.mean()))


if __name__ == "__main__":
    chosen = options(__doc__, actors=8, pairs=2, style=("naive", "compiled", "bare"))
    with Measured.of(chosen) as measured:
        run(measured, chosen, plain if chosen.style == "bare" else ray)
