"""Gymnasium environments as all competitors get them."""

import gymnasium
import numpy as np


class Endless(gymnasium.Wrapper):
    """An environment that starts its next episode by itself and so never reports an end.

    The rules by which vector environments reset differ (in the same step, in the next one); with this one all of them
    see the same observations and rewards. Observations are arrays: a tuple of numbers becomes float32.
    """

    def __init__(self, environment):
        super().__init__(environment)
        self._tuple = isinstance(environment.observation_space, gymnasium.spaces.Tuple)
        if self._tuple:
            most = [float(part.n) for part in environment.observation_space]
            self.observation_space = gymnasium.spaces.Box(0.0, np.array(most, np.float32))

    def reset(self, **options):
        observation, _ = self.env.reset(**options)
        return self._array(observation), {}

    def step(self, action):
        observation, reward, terminated, truncated, _ = self.env.step(action)
        if terminated or truncated:
            observation, _ = self.env.reset()
        return self._array(observation), float(reward), False, False, {}

    def _array(self, observation):
        return np.array(observation, np.float32) if self._tuple else observation


def make(name):
    """The environment `name`; those of Atari ("ALE/Pong-v5") with raw RGB frames."""
    if name.startswith("ALE/"):
        import ale_py

        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        gymnasium.register_envs(ale_py)
        return Endless(gymnasium.make(name, obs_type="rgb"))
    return Endless(gymnasium.make(name))


def see(measured, rewards, observations):
    """Adds to the trace of a Measured the rewards of a round, by step and environment, and its last observations."""
    # Some vector environments give rewards in single precision.
    rewards = [[float(np.float32(reward)) for reward in step] for step in rewards]
    measured.see(rewards, [np.array(observation) for observation in observations])


def actions(name, environments, steps, number):
    """The actions of a round, a list of one per environment for each step: ints, or float32 arrays."""
    random = np.random.default_rng([number, environments])
    space = gymnasium.spec(name).make().action_space if not name.startswith("ALE/") else make(name).action_space
    if isinstance(space, gymnasium.spaces.Discrete):
        return random.integers(space.n, size=(steps, environments)).tolist()
    drawn = random.uniform(space.low, space.high, size=(steps, environments, *space.shape))
    return [list(step) for step in drawn.astype(np.float32)]
