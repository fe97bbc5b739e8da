"""Algorithms and policies that the tests of fragments deploy."""

import json
import sys

from rayshim.fragments import Policy, Role, deploy
from rayshim.fragments.algorithms.ppo import PPO
from rayshim.fragments.algorithms.sac import SAC

EQUAL = ("one-device", "coarse", "fine", "environment-workers", "hybrid")


def small(**settings):
    return PPO(**{"environments": 4, "horizon": 16, "hidden": 16, "epochs": 2, "minibatches": 2, "seed": 3, **settings})


#: SAC with small networks, for the policy "saturate".
SMALL = SAC(environments=4, horizon=8, hidden=16, learning_starts=64, updates=4, batch=16, buffer=10_000)


class Overlapped(Policy):
    """Actors collect, with weights that are one iteration old, while the learner learns."""

    def iterate(self, team):
        collected = team.collect()
        while True:
            ahead = team.collect()
            team.learn(collected)
            yield team.iteration(collected)
            collected = ahead


COARSE = (Role("Actor", ("environments", "act"), 2), Role("Learner", ("gradient", "update")))
PAIRS = (Role("Actor", ("environments", "act"), 4), Role("Learner", ("gradient", "update"), 2))


def trained(algorithm, policy, iterations=3, **options):
    """(digest, weights, environment steps, returns) after some iterations."""
    with deploy(algorithm, policy, **options) as deployment:
        progress = list(deployment.train(iterations=iterations))
        returns = [value for one in progress for value in one.returns]
        return deployment.digest(), deployment.weights(), deployment.steps, returns


if __name__ == "__main__":
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    print(
        json.dumps(
            [ray.__file__, *(trained(SMALL if policy == "saturate" else small(), policy)[0] for policy in sys.argv[1:])]
        )
    )
