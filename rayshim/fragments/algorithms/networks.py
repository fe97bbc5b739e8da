"""Networks and returns that several algorithms use."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn


def mlp(*sizes: int, last_gain: float = 1.0) -> nn.Sequential:
    """Linear layers of these sizes with tanh between them, orthogonal weights: (n, sizes[0]) to (n, sizes[-1])."""
    layers: list[nn.Module] = []
    for at, (inputs, outputs) in enumerate(pairwise(sizes)):
        last = at == len(sizes) - 2
        layer = nn.Linear(inputs, outputs)
        nn.init.orthogonal_(layer.weight, last_gain if last else 2**0.5)
        nn.init.zeros_(layer.bias)
        layers += [layer] if last else [layer, nn.Tanh()]
    return nn.Sequential(*layers)


def advantages_of(
    reward: torch.Tensor,
    value: torch.Tensor,
    next_value: torch.Tensor,
    terminated: torch.Tensor,
    truncated: torch.Tensor,
    discount: float,
    smoothing: float,
) -> torch.Tensor:
    """Generalised advantage estimates (Schulman et al. 2016), all float32 or bool (T, n).

    value: of the observations. next_value: of the next ones, which stand for the rest of an episode that was truncated or goes on.
    """
    delta = reward + discount * next_value * ~terminated - value
    goes_on = ~(terminated | truncated)
    advantages, following = torch.zeros_like(delta), torch.zeros_like(delta[0])
    for time in range(len(delta) - 1, -1, -1):
        following = delta[time] + discount * smoothing * goes_on[time] * following
        advantages[time] = following
    return advantages


def relu_mlp(*sizes: int) -> nn.Sequential:
    """Linear layers of these sizes with ReLU between them, torch's weights: (n, sizes[0]) to (n, sizes[-1])."""
    layers = [layer for inputs, outputs in pairwise(sizes) for layer in (nn.Linear(inputs, outputs), nn.ReLU())]
    return nn.Sequential(*layers[:-1])
