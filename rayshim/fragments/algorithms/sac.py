"""Soft actor-critic (Haarnoja et al. 2018) with a tuned temperature, continuous actions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gymnasium
import torch
from torch import nn
from torch.distributions import Normal
from torch.optim.swa_utils import get_ema_multi_avg_fn

from rayshim.fragments.algorithm import Batch, OffPolicy, Request, Step
from rayshim.fragments.algorithms.networks import relu_mlp
from rayshim.fragments.replay import Replay

if TYPE_CHECKING:
    from collections.abc import Generator

    from rayshim.fragments.learner import Learner
    from rayshim.fragments.random_rows import RandomRows


class ActorAndCritics(nn.Module):
    """An actor, two critics with their targets, and the logarithm of the temperature. Actions are in [-1, 1] inside."""

    centre: torch.Tensor
    scale: torch.Tensor

    def __init__(self, observation: int, low: torch.Tensor, high: torch.Tensor, hidden: int) -> None:
        super().__init__()
        size = len(low)
        self.actor: nn.Sequential = relu_mlp(observation, hidden, hidden, 2 * size)
        self.critics: nn.ModuleList = nn.ModuleList(relu_mlp(observation + size, hidden, hidden, 1) for _ in range(2))
        self.targets: nn.ModuleList = nn.ModuleList(relu_mlp(observation + size, hidden, hidden, 1) for _ in range(2))
        self.targets.requires_grad_(False).load_state_dict(self.critics.state_dict())
        self.log_temperature: nn.Parameter = nn.Parameter(torch.zeros(()))
        self.register_buffer("centre", (high + low) / 2)
        self.register_buffer("scale", (high - low) / 2)

    def sample(self, observation: torch.Tensor, noise: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """observation (..., observation) and normal noise (..., action) to actions (..., action) and their log probabilities (...)."""
        mean, log_deviation = self.actor(observation).chunk(2, -1)
        normal = Normal(mean, log_deviation.clamp(-20, 2).exp(), validate_args=False)
        raw = mean + normal.stddev * noise
        # log(1 - tanh(x)^2) in a form that does not overflow
        squashed = 2 * (0.6931471805599453 - raw - nn.functional.softplus(-2 * raw))
        return raw.tanh(), (normal.log_prob(raw) - squashed).sum(-1)

    def values(self, critics: nn.ModuleList, observation: torch.Tensor, action: torch.Tensor) -> torch.Tensor:
        """(2, ...): both critics' values."""
        both = torch.cat([observation, action], -1)
        return torch.stack([critic(both).squeeze(-1) for critic in critics])


@dataclass
class SAC(OffPolicy):
    """The defaults are those of Stable-Baselines3 and its Zoo for Pendulum (an update for each environment step), with smaller networks."""

    environment: str = "Pendulum-v1"
    environments: int = 4
    horizon: int = 8
    seed: int = 0
    rows: int | None = None
    hidden: int = 64
    learning_rate: float = 1e-3
    discount: float = 0.99
    target_rate: float = 0.005
    buffer: int = 100_000
    batch: int = 256
    updates: int = 32  # in an iteration
    learning_starts: int = 400

    def make_environment(self) -> gymnasium.Env[Any, Any]:
        return gymnasium.make(self.environment)

    def make_network(self) -> ActorAndCritics:
        environment = self.make_environment()
        space: Any = environment.action_space
        low, high = torch.from_numpy(space.low), torch.from_numpy(space.high)
        return ActorAndCritics(environment.observation_space.shape[0], low, high, self.hidden)  # pyright: ignore

    def make_optimisers(self, network: ActorAndCritics) -> dict[str, torch.optim.Optimizer]:
        trained = {"actor": network.actor.parameters(), "critics": network.critics.parameters()}
        optimisers = {name: torch.optim.Adam(some, lr=self.learning_rate, fused=True) for name, some in trained.items()}
        return {
            **optimisers,
            "temperature": torch.optim.Adam([network.log_temperature], lr=self.learning_rate, fused=True),
        }

    def make_memory(self, learner: Learner) -> Replay:
        return Replay(self.buffer // self.environments)

    def act(self, network: ActorAndCritics, observation: torch.Tensor, random: RandomRows, step: int) -> Batch:
        """observation: (n, observation). Returns "action": float32 (n, action), "inner": the same in [-1, 1]. Uniform before learning starts."""
        inner, _ = network.sample(observation, random.normal(len(network.scale)).to(observation.device))
        if step * self.environments < self.learning_starts:
            inner = random.uniform(len(network.scale)).to(observation.device) * 2 - 1
        return {"action": network.centre + network.scale * inner, "inner": inner}

    def decide(self, network: ActorAndCritics, observation: torch.Tensor) -> torch.Tensor:
        return network.centre + network.scale * network.actor(observation).chunk(2, -1)[0].tanh()

    def learn(self, learner: Learner, batch: Batch) -> Generator[Request, Any, None]:
        """batch: each (T, n, ...). `updates` times a step of the critics, the actor and the temperature."""
        network, replay = learner.network, learner.memory
        replay.add(batch)
        if len(replay) * self.environments <= self.learning_starts:
            return
        rows, size = max(self.batch // self.environments, 1), len(network.scale)
        targets, critics = [*network.targets.parameters()], [*network.critics.parameters()]
        follow = get_ema_multi_avg_fn(1 - self.target_rate)
        for _ in range(self.updates):
            sample = replay.sample(rows, learner.generator)
            observation, following = sample["observation"], sample["next_observation"]
            temperature = network.log_temperature.detach().exp()
            with torch.no_grad():
                action, log_probability = network.sample(following, learner.normal(rows, size))
                value = network.values(network.targets, following, action).amin(0) - temperature * log_probability
                target = sample["reward"] + self.discount * value * ~sample["terminated"]
            values = network.values(network.critics, observation, sample["inner"])
            yield Step((values - target).square().mean(), "critics")
            action, log_probability = network.sample(observation, learner.normal(rows, size))
            value = network.values(network.critics, observation, action).amin(0)
            yield Step((temperature * log_probability - value).mean(), "actor")
            too_sure = (log_probability.detach() - size).mean()  # the entropy aimed at is -size
            yield Step(-network.log_temperature * too_sure, "temperature")
            follow(targets, critics, None)
