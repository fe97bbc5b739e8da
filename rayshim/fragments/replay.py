"""A replay buffer whose samples do not depend on how the environments are split."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from rayshim.fragments.algorithm import Batch


class Replay:
    """A ring of the last `capacity` rows of time, each with all environments of a learner. A sample is a number of rows, so that learners with a
    part of the environments each draw their part of the sample that one learner would draw."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._data: Batch = {}
        self._added = 0

    def __len__(self) -> int:
        """Rows of time in the buffer."""
        return min(self._added, self.capacity)

    def add(self, batch: Batch) -> None:
        """Adds a batch {name: (T, n, ...)}, T <= capacity."""
        rows = len(next(iter(batch.values())))
        where = (self._added + torch.arange(rows)) % self.capacity
        for name, values in batch.items():
            if name not in self._data:
                self._data[name] = values.new_zeros((self.capacity, *values.shape[1:]))
            self._data[name][where] = values
        self._added += rows

    def sample(self, rows: int, generator: torch.Generator) -> Batch:
        """{name: (rows, n, ...)}: rows drawn with replacement."""
        chosen = torch.randint(len(self), (rows,), generator=generator)
        return {name: values[chosen] for name, values in self._data.items()}
