"""CartPole with the cross-entropy method: players try policies, and the next generation is drawn around the best of them.

    python examples/cartpole.py

The program that docs/tutorial.md builds. Needs gymnasium: pip install "rayshim[rl]"
"""

import gymnasium
import numpy as np

import rayshim as ray

PLAYERS, POLICIES, BEST, GENERATIONS = 4, 32, 8, 6


@ray.remote(max_restarts=2, max_task_retries=2)
class Player:
    def __init__(self):
        self.env = gymnasium.make("CartPole-v1")

    def play(self, policy, seed):
        """Plays an episode; returns the number of its steps."""
        observation, _ = self.env.reset(seed=seed)
        total, ended = 0.0, False
        while not ended:
            observation, reward, terminated, truncated, _ = self.env.step(int(observation @ policy > 0))
            total += float(reward)
            ended = terminated or truncated
        return total


def main():
    ray.init(logging_level="WARNING")
    players = [Player.remote() for _ in range(PLAYERS)]
    random = np.random.default_rng(1)
    mean, spread = np.zeros(4), np.ones(4)
    for generation in range(GENERATIONS):
        policies = mean + spread * random.standard_normal((POLICIES, 4))
        calls = [players[i % PLAYERS].play.remote(policy, seed=generation) for i, policy in enumerate(policies)]
        returns = ray.get(calls)
        best = policies[np.argsort(returns)[-BEST:]]
        mean, spread = best.mean(axis=0), best.std(axis=0)
        print(f"generation {generation}: mean return {np.mean(returns):.0f}, best {max(returns):.0f}")
    policy = ray.put(mean)
    evaluation = ray.get([players[i % PLAYERS].play.remote(policy, seed=1000 + i) for i in range(20)])
    print("solved" if np.mean(evaluation) >= 475 else "not solved", f"with a mean return of {np.mean(evaluation):.0f}")
    ray.shutdown()


if __name__ == "__main__":
    main()
