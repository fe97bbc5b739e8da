"""Actor-learner: actors play with the newest policy, and the learner learns from each trajectory as soon as `wait` returns it.

    python examples/actor_learner.py

The policy chooses one of five arms, which pay with different probabilities. The order in which `wait` returns trajectories decides what the
learner learns. In logical order, `wait` returns the trajectory of the earliest call, as long as this blocks the learner only for a short time.
In arrival order, as on Ray, it returns the trajectory that is done first.
"""

import numpy as np

import rayshim as ray

PAYS = np.array([0.2, 0.4, 0.1, 0.8, 0.5])
ACTORS, TRAJECTORIES, STEPS, RATE = 4, 200, 20, 0.2


def probabilities(preferences):
    scores = np.exp(preferences - preferences.max())
    return scores / scores.sum()


@ray.remote
class Actor:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def play(self, preferences):
        """Plays with the policy given by `preferences`; returns (arms, rewards)."""
        arms = self.random.choice(len(PAYS), size=STEPS, p=probabilities(preferences))
        return arms, (self.random.random(STEPS) < PAYS[arms]).astype(float)


def updated(preferences, arms, rewards, baseline):
    """A policy-gradient step."""
    chosen = np.eye(len(PAYS))[arms]
    gradient = ((rewards - baseline)[:, None] * (chosen - probabilities(preferences))).mean(axis=0)
    return preferences + RATE * len(PAYS) * gradient


def main():
    ray.init(logging_level="WARNING")
    actors = [Actor.remote(seed) for seed in range(ACTORS)]
    preferences, baseline, history = np.zeros(len(PAYS)), 0.0, []
    playing = {actor.play.remote(preferences): actor for actor in actors}
    for _ in range(TRAJECTORIES):
        (ready,), _ = ray.wait(list(playing), num_returns=1)
        actor = playing.pop(ready)
        arms, rewards = ray.get(ready)
        preferences = updated(preferences, arms, rewards, baseline)
        baseline += 0.1 * (rewards.mean() - baseline)
        history.append(rewards.mean())
        playing[actor.play.remote(preferences)] = actor
    print(
        f"mean reward of the first 20 trajectories {np.mean(history[:20]):.2f}, of the last 20 {np.mean(history[-20:]):.2f}"
    )
    print("best arm", int(preferences.argmax()))
    ray.shutdown()


if __name__ == "__main__":
    main()
