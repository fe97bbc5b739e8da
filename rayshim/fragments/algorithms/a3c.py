"""Advantage actor-critic (Mnih et al. 2016): A3C under the asynchronous central policy, A2C under all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.distributions import Categorical

from rayshim.fragments.algorithm import Batch, Request, Step
from rayshim.fragments.algorithms.networks import advantages_of
from rayshim.fragments.algorithms.ppo import PPO

if TYPE_CHECKING:
    from collections.abc import Generator

    from rayshim.fragments.learner import Learner


@dataclass
class A3C(PPO):
    """The network and the actions are those of PPO; each iteration of a few environment steps gives one gradient."""

    horizon: int = 16
    learning_rate: float = 1e-3
    smoothing: float = 1.0  # n-step returns

    def make_optimisers(self, network: Any) -> dict[str, torch.optim.Optimizer]:
        return {"all": torch.optim.RMSprop(network.parameters(), lr=self.learning_rate, alpha=0.99, eps=1e-5)}

    def learn(self, learner: Learner, batch: Batch) -> Generator[Request, Any, None]:
        """batch: each (T, n, ...). One step."""
        network = learner.network
        value = network.value(batch["observation"])
        with torch.no_grad():
            next_value = network.value(batch["next_observation"])
            advantage = advantages_of(
                batch["reward"],
                value,
                next_value,
                batch["terminated"],
                batch["truncated"],
                self.discount,
                self.smoothing,
            )
            target = advantage + value
        now = Categorical(logits=network.logits(batch["observation"]))
        gain = (now.log_prob(batch["action"]) * advantage).mean()
        error = (value - target).square().mean()
        yield Step(self.value_weight * error - gain - self.entropy_weight * now.entropy().mean())
