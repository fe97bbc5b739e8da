"""What the paper's programs and `ma_gym` use of gym 0.20, over gymnasium: `reset` gives the observation, `step` four values, and `seed` sets
what the next reset starts from."""

import contextlib

import gymnasium
from gym.envs.registration import registry
from gymnasium import spaces

with contextlib.suppress(ImportError):
    import ale_py  # noqa: F401  (registers the Atari games)

__all__ = ["Env", "make", "spaces"]


class Env:
    """The base class of environments that are written for gym itself."""


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
    module, _, name = name.rpartition(":")
    if not module:
        return _Environment(gymnasium.make(name, **options))
    return registry.make(module, name, **options)
