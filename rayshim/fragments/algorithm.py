"""What an algorithm says: environments, networks, how to act, how to learn. Not a word about processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import torch

if TYPE_CHECKING:
    from collections.abc import Generator

    import gymnasium

    from rayshim.fragments.learner import Learner
    from rayshim.fragments.random_rows import RandomRows

#: A trajectory: {name: tensor (T, n, ...)}, T rows of time by n environments. The names are those of `Algorithm.learn`.
Batch: TypeAlias = "dict[str, torch.Tensor]"


@dataclass(frozen=True)
class Step:
    """`learn` yields it for one step of an optimiser along the gradient of `loss`.

    loss: scalar tensor, a mean over the samples of the batch, so that the mean of several learners' gradients is that of all their samples.
    optimiser: the name of one of `make_optimisers`; None is the only one.
    """

    loss: torch.Tensor
    optimiser: str | None = None


@dataclass(frozen=True)
class Mean:
    """`learn` yields it to get the mean of `value` (a tensor of any shape) over all parts of the batch: other learners may have the other parts."""

    value: torch.Tensor


#: What `learn` may yield.
Request: TypeAlias = Union[Step, Mean]  # noqa: UP007  evaluated at run time on Python 3.10


class Algorithm:
    """Base class of algorithms. An algorithm is pickled to the processes that a policy makes: it holds settings and no state.

    Attributes:
        environments: number of environments, N.
        horizon: environment steps of each environment in one iteration, T.
        seed: of networks, environments and every random number.
        rows: rows of an inference batch. The network always acts on this many environments at once, environment i in row i % rows, however
            many a process holds, so that the bits of an action do not depend on the policy. 0: the rows are those that the process holds; it is
            the quickest where a process holds few of many environments, and the last bits may then differ between policies.
            None: as many as `environments`.
        max_gradient_norm: gradients are scaled down to this norm before each step; None: they are not.
    """

    environments: int = 8
    horizon: int = 128
    seed: int = 0
    rows: int | None = None
    max_gradient_norm: float | None = None

    def make_environment(self) -> gymnasium.Env[Any, Any]:
        """One environment. It is seeded from outside by its index."""
        raise NotImplementedError

    def make_network(self) -> torch.nn.Module:
        """All networks in one module. Parameters that require a gradient are trained, and go to whoever acts. torch is seeded with `seed`."""
        raise NotImplementedError

    def make_optimisers(self, network: Any) -> dict[str, torch.optim.Optimizer]:
        """The optimisers of that network by name. Each parameter that requires a gradient belongs to one of them."""
        raise NotImplementedError

    def act(self, network: Any, observation: torch.Tensor, random: RandomRows, step: int) -> Batch:
        """Actions that explore, without gradients.

        observation: (n, *observation). random: numbers for these n environments, from a generator for each environment.
        step: how many steps each environment has made before.
        Returns {"action": (n, *action), ...}; what else is in it, each (n, ...), comes back in the batch of `learn`.
        """
        raise NotImplementedError

    def decide(self, network: Any, observation: torch.Tensor) -> torch.Tensor:
        """The best actions, for evaluation: observation (n, *observation), returns (n, *action)."""
        raise NotImplementedError

    def learn(self, learner: Learner, batch: Batch) -> Generator[Request, Any, None]:
        """Learns from what the environments of this learner did in one iteration.

        batch: "observation", "next_observation" (the last one of its episode where that ends there): float32 (T, n, *observation);
            "reward": float32 (T, n); "terminated", "truncated": bool (T, n); "action" and the rest of what `act` gave.
        Yields `Step` and `Mean`. It may not depend on n: draw rows of time with `learner.generator`, noise with `learner.normal`.
        """
        raise NotImplementedError

    def make_memory(self, learner: Learner) -> Any:
        """What a learner keeps between iterations, as `learner.memory`: a replay buffer, counters. None by default."""
        return None

    def evaluate(self, network: Any, episodes: int, seed: int) -> list[float]:
        """The undiscounted returns of `episodes` episodes of `decide`."""
        returns = []
        environment = self.make_environment()
        device = next(network.parameters()).device
        for episode in range(episodes):
            observation, _ = environment.reset(seed=seed + episode)
            total, done = 0.0, False
            while not done:
                row = torch.as_tensor(observation, dtype=torch.float32, device=device)[None]
                with torch.no_grad():
                    action = self.decide(network, row)[0].cpu().numpy()
                observation, reward, terminated, truncated, _ = environment.step(action)
                total += float(reward)
                done = terminated or truncated
            returns.append(total)
        environment.close()
        return returns


class OffPolicy(Algorithm):
    """Base class of algorithms that learn from a replay buffer, and so from whatever was sampled, at any time.

    `learn` adds its batch, which may have no rows, to the buffer; then makes `updates` updates, each on `batch` frames (transitions) drawn from the
    buffer, or none while the buffer has too few. It reads `environments`, `batch` and `updates` anew in each call.

    Attributes:
        batch: frames of one update.
        updates: in one call of `learn`.
    """

    batch: int = 256
    updates: int = 32


#: The methods that an algorithm must have, and how each is called.
METHODS = {
    "make_environment": "make_environment()",
    "make_network": "make_network()",
    "make_optimisers": "make_optimisers(network)",
    "act": "act(network, observation, random, step)",
    "decide": "decide(network, observation)",
    "learn": "learn(learner, batch)",
}
