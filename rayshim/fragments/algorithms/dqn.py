"""Deep Q-learning (Mnih et al. 2015) with a double-Q target (van Hasselt et al. 2016), discrete actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gymnasium
import torch
from torch import nn

from rayshim.fragments.algorithm import Batch, OffPolicy, Request, Step
from rayshim.fragments.algorithms.networks import relu_mlp
from rayshim.fragments.replay import Replay

if TYPE_CHECKING:
    from collections.abc import Generator

    from rayshim.fragments.learner import Learner
    from rayshim.fragments.random_rows import RandomRows


class QNetworks(nn.Module):
    """online and target: (n, observation) to (n, actions). The target is not trained."""

    def __init__(self, observation: int, actions: int, hidden: int) -> None:
        super().__init__()
        self.online: nn.Sequential = relu_mlp(observation, hidden, hidden, actions)
        self.target: nn.Sequential = relu_mlp(observation, hidden, hidden, actions).requires_grad_(False)
        self.target.load_state_dict(self.online.state_dict())


@dataclass
class DQN(OffPolicy):
    """The defaults are those of the RL Baselines3 Zoo for CartPole. Counts of steps and of updates are those of all environments together."""

    environment: str = "CartPole-v1"
    environments: int = 8
    horizon: int = 32
    seed: int = 0
    rows: int | None = None
    hidden: int = 256
    learning_rate: float = 2.3e-3
    discount: float = 0.99
    buffer: int = 100_000
    batch: int = 64
    updates: int = 128  # in an iteration
    learning_starts: int = 1000
    exploration_steps: int = 8000  # in which epsilon falls from 1 to its end
    exploration_end: float = 0.04
    target_every: int = 1  # iterations between copies of the network to the target
    max_gradient_norm: float | None = 10.0

    def make_environment(self) -> gymnasium.Env[Any, Any]:
        return gymnasium.make(self.environment)

    def make_network(self) -> QNetworks:
        environment = self.make_environment()
        observation, actions = environment.observation_space.shape[0], environment.action_space.n  # pyright: ignore
        return QNetworks(observation, actions, self.hidden)

    def make_optimisers(self, network: QNetworks) -> dict[str, torch.optim.Optimizer]:
        return {"online": torch.optim.Adam(network.online.parameters(), lr=self.learning_rate, fused=True)}

    def make_memory(self, learner: Learner) -> dict[str, Any]:
        return {"replay": Replay(self.buffer // self.environments), "iterations": 0}

    def act(self, network: QNetworks, observation: torch.Tensor, random: RandomRows, step: int) -> Batch:
        """observation: (n, observation). Returns "action": int64 (n)."""
        left = 1 - min(step * self.environments / self.exploration_steps, 1)
        epsilon = self.exploration_end + (1 - self.exploration_end) * left
        values = network.online(observation)
        any_action = random.choice(torch.full_like(values, 1 / values.shape[-1]))
        explores = random.uniform().to(values.device) < epsilon
        return {"action": torch.where(explores, any_action, values.argmax(-1))}

    def decide(self, network: QNetworks, observation: torch.Tensor) -> torch.Tensor:
        return network.online(observation).argmax(-1)

    def learn(self, learner: Learner, batch: Batch) -> Generator[Request, Any, None]:
        """batch: each (T, n, ...). `updates` steps on samples of batch / environments rows of time."""
        network, replay = learner.network, learner.memory["replay"]
        replay.add(batch)
        if len(replay) * self.environments < self.learning_starts:
            return
        for _ in range(self.updates):
            sample = replay.sample(max(self.batch // self.environments, 1), learner.generator)
            with torch.no_grad():
                best = network.online(sample["next_observation"]).argmax(-1, keepdim=True)
                following = network.target(sample["next_observation"]).gather(-1, best).squeeze(-1)
                target = sample["reward"] + self.discount * following * ~sample["terminated"]
            value = network.online(sample["observation"]).gather(-1, sample["action"][..., None]).squeeze(-1)
            yield Step(nn.functional.smooth_l1_loss(value, target))
        learner.memory["iterations"] += 1
        if learner.memory["iterations"] % self.target_every == 0:
            network.target.load_state_dict(network.online.state_dict())
