"""Random numbers that belong to environments and not to processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

if TYPE_CHECKING:
    from collections.abc import Iterable

_AHEAD = 256  # numbers that are drawn at once for each environment


class RandomRows:
    """Random numbers for some environments. Row k comes from a generator that is seeded by the index of environment k: which process holds it, and
    with which others, changes none of its numbers."""

    def __init__(self, seed: int, indices: Iterable[int]) -> None:
        """`indices`: those of the environments, in the order of the rows."""
        self._generators = [np.random.default_rng([seed, index]) for index in indices]
        self._drawn: dict[tuple[str, tuple[int, ...]], list] = {}

    def uniform(self, *shape: int) -> torch.Tensor:
        """float32 (n, *shape) in [0, 1)."""
        return self._next("random", shape)

    def normal(self, *shape: int) -> torch.Tensor:
        """float32 (n, *shape), mean 0, variance 1."""
        return self._next("standard_normal", shape)

    def choice(self, probabilities: torch.Tensor) -> torch.Tensor:
        """int64 (n, ...): one of k categories each, with these probabilities (n, ..., k)."""
        below = probabilities.cumsum(-1) <= self.uniform(*probabilities.shape[1:-1], 1).to(probabilities.device)
        return below.sum(-1).clamp_max(probabilities.shape[-1] - 1)

    def _next(self, kind: str, shape: tuple[int, ...]) -> torch.Tensor:
        ahead = self._drawn.setdefault((kind, shape), [None, _AHEAD])
        if ahead[1] == _AHEAD:
            numbers = [getattr(generator, kind)((_AHEAD, *shape), dtype=np.float32) for generator in self._generators]
            ahead[:] = torch.from_numpy(np.stack(numbers, axis=1)), 0
        ahead[1] += 1
        return ahead[0][ahead[1] - 1]
