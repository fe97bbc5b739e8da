"""Multi-agent PPO (Yu et al. 2022): agents share an actor, and one critic sees all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from torch import nn

from rayshim.fragments.algorithms.networks import mlp
from rayshim.fragments.algorithms.ppo import PPO


class Joint(gymnasium.Env[Any, Any]):
    """A PettingZoo environment of alike agents with discrete actions as one gymnasium environment.

    observation: float32 (agents, observation). action: int64 (agents). reward: the mean of all agents' rewards.
    """

    def __init__(self, parallel: Any) -> None:
        self._parallel = parallel
        self._agents = parallel.possible_agents
        one = parallel.observation_space(self._agents[0])
        self.observation_space: spaces.Space[Any] = spaces.Box(
            -np.inf, np.inf, (len(self._agents), *one.shape), np.float32
        )
        self.action_space: spaces.Space[Any] = spaces.MultiDiscrete(
            [parallel.action_space(agent).n for agent in self._agents]
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        if seed is not None:
            super().reset(seed=seed)
        # Each episode gets a seed of its own: without one, a PettingZoo environment may seed itself from the system.
        observations, _ = self._parallel.reset(seed=int(self.np_random.integers(2**31)))
        return self._joined(observations), {}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        chosen = {agent: int(one) for agent, one in zip(self._agents, action)}
        observations, rewards, terminated, truncated, _ = self._parallel.step(chosen)
        reward = sum(rewards.values()) / len(self._agents)
        return self._joined(observations), reward, all(terminated.values()), all(truncated.values()), {}

    def close(self) -> None:
        self._parallel.close()

    def _joined(self, observations: dict[str, np.ndarray]) -> np.ndarray:
        return np.stack([observations[agent] for agent in self._agents]).astype(np.float32)


class SharedActor(nn.Module):
    """logits: (..., agents, observation) to (..., agents, actions). value: (..., agents, observation) to (...)."""

    def __init__(self, agents: int, observation: int, actions: int, hidden: int) -> None:
        super().__init__()
        self.logits: nn.Sequential = mlp(observation, hidden, hidden, actions, last_gain=0.01)
        self._value = mlp(agents * observation, hidden, hidden, 1)

    def value(self, observation: torch.Tensor) -> torch.Tensor:
        return self._value(observation.flatten(-2)).squeeze(-1)


@dataclass
class MAPPO(PPO):
    """PPO with an actor for each agent's own observation, on simple spread of mpe2: all agents get the mean reward."""

    agents: int = 3
    horizon: int = 125  # 5 episodes
    learning_rate: float = 7e-4
    epochs: int = 10
    minibatches: int = 1
    max_gradient_norm: float | None = 10.0

    def make_environment(self) -> gymnasium.Env[Any, Any]:
        from mpe2 import simple_spread_v3

        return Joint(simple_spread_v3.parallel_env(N=self.agents))

    def make_network(self) -> Any:
        environment: Any = self.make_environment()
        agents, observation = environment.observation_space.shape
        return SharedActor(agents, observation, int(environment.action_space.nvec[0]), self.hidden)
