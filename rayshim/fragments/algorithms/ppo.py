"""Proximal policy optimisation (Schulman et al. 2017) with discrete actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gymnasium
import torch
from torch import nn
from torch.distributions import Categorical

from rayshim.fragments.algorithm import Algorithm, Batch, Mean, Request, Step
from rayshim.fragments.algorithms.networks import advantages_of, mlp

if TYPE_CHECKING:
    from collections.abc import Generator

    from rayshim.fragments.learner import Learner
    from rayshim.fragments.random_rows import RandomRows


class ActorCritic(nn.Module):
    """logits: (n, observation) to (n, actions). value: (n, observation) to (n)."""

    def __init__(self, observation: int, actions: int, hidden: int) -> None:
        super().__init__()
        self.logits: nn.Sequential = mlp(observation, hidden, hidden, actions, last_gain=0.01)
        self._value = mlp(observation, hidden, hidden, 1)

    def value(self, observation: torch.Tensor) -> torch.Tensor:
        return self._value(observation).squeeze(-1)


@dataclass
class PPO(Algorithm):
    """PPO with clipped ratios. A minibatch is some rows of time of all environments.

    The defaults are those of CleanRL's ppo.py but for 8 environments in place of 4. Advantages are standardised over the batch of an iteration.
    """

    environment: str = "CartPole-v1"
    environments: int = 8
    horizon: int = 128
    seed: int = 0
    rows: int | None = None
    hidden: int = 64
    learning_rate: float = 2.5e-4
    discount: float = 0.99
    smoothing: float = 0.95
    epochs: int = 4
    minibatches: int = 4
    clip: float = 0.2
    entropy_weight: float = 0.01
    value_weight: float = 0.5
    max_gradient_norm: float | None = 0.5

    def make_environment(self) -> gymnasium.Env[Any, Any]:
        return gymnasium.make(self.environment)

    def make_network(self) -> Any:
        environment = self.make_environment()
        observation, actions = environment.observation_space.shape[0], environment.action_space.n  # pyright: ignore
        return ActorCritic(observation, actions, self.hidden)

    def make_optimisers(self, network: Any) -> dict[str, torch.optim.Optimizer]:
        return {"all": torch.optim.Adam(network.parameters(), lr=self.learning_rate, eps=1e-5)}

    def act(self, network: Any, observation: torch.Tensor, random: RandomRows, step: int) -> Batch:
        """observation: (n, observation). Returns "action": int64 (n), "log_probability": float32 (n)."""
        chances = network.logits(observation).log_softmax(-1)
        action = random.choice(chances.exp())
        return {"action": action, "log_probability": chances.gather(-1, action[..., None]).squeeze(-1)}

    def decide(self, network: Any, observation: torch.Tensor) -> torch.Tensor:
        return network.logits(observation).argmax(-1)

    def learn(self, learner: Learner, batch: Batch) -> Generator[Request, Any, None]:
        """batch: each (T, n, ...). `epochs` times `minibatches` steps."""
        network = learner.network
        with torch.no_grad():
            value = network.value(batch["observation"])
            next_value = network.value(batch["next_observation"])
        advantage = advantages_of(
            batch["reward"], value, next_value, batch["terminated"], batch["truncated"], self.discount, self.smoothing
        )
        target = advantage + value
        mean, square = yield Mean(torch.stack([advantage.mean(), advantage.square().mean()]))
        advantage = (advantage - mean) / (square - mean.square()).clamp_min(1e-8).sqrt()
        advantage = advantage.reshape(*advantage.shape, *[1] * (batch["action"].dim() - 2))  # of each part of an action
        for _ in range(self.epochs):
            for times in torch.randperm(len(target), generator=learner.generator).chunk(self.minibatches):
                observation = batch["observation"][times]
                now = Categorical(logits=network.logits(observation))
                ratio = (now.log_prob(batch["action"][times]) - batch["log_probability"][times]).exp()
                gain, clipped = ratio * advantage[times], ratio.clamp(1 - self.clip, 1 + self.clip) * advantage[times]
                error = (network.value(observation) - target[times]).square().mean() / 2
                loss = -torch.minimum(gain, clipped).mean() - self.entropy_weight * now.entropy().mean()
                yield Step(loss + self.value_weight * error)
