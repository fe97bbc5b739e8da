"""gym 0.21's `make`, over gymnasium: `reset` gives the observation, `step` four values, and `seed` sets what the next reset starts from."""

import gymnasium


class _Environment:
    def __init__(self, environment):
        self._environment, self._seed = environment, None
        self.observation_space, self.action_space = environment.observation_space, environment.action_space

    def seed(self, seed=None):
        self._seed = seed
        return [seed]

    def reset(self):
        seed, self._seed = self._seed, None
        return self._environment.reset(seed=seed)[0]

    def step(self, action):
        observation, reward, ended, cut, _ = self._environment.step(action)
        return observation, reward, ended or cut, {}

    def close(self):
        self._environment.close()


def make(name, **options):
    return _Environment(gymnasium.make(name, **options))
