"""The fragment `act`: acts in environments for one iteration at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from rayshim.fragments.random_rows import RandomRows

if TYPE_CHECKING:
    from rayshim.fragments.algorithm import Algorithm
    from rayshim.fragments.environments import Environments, RemoteEnvironments


class Ended(NamedTuple):
    """An episode that has ended at this row of time, in this environment."""

    time: int
    environment: int
    value: float  #: its undiscounted return


class Collector:
    """Acts in its environments with its network, and makes trajectories. steps: those that each environment has made before, as `act` gets it."""

    def __init__(
        self,
        algorithm: Algorithm,
        environments: Environments | RemoteEnvironments,
        network: torch.nn.Module,
        device: str,
    ) -> None:
        self._algorithm, self._environments, self._network, self._device = algorithm, environments, network, device
        held = environments.indices
        rows = len(held) if algorithm.rows == 0 else algorithm.rows or algorithm.environments
        first = held.start if algorithm.rows == 0 else held.start // rows * rows
        # The batches of inference. A row whose environment is in another process is acted on like the others, and its action is left out.
        self._randoms = [RandomRows(algorithm.seed, range(at, at + rows)) for at in range(first, held.stop, rows)]
        self._held = slice(held.start - first, held.stop - first)
        self._rows = rows
        self._observation = environments.reset()
        self._input = np.zeros((rows * len(self._randoms), *self._observation.shape[1:]), np.float32)
        self._returns = np.zeros(len(held))
        self.steps: int = 0

    def collect(self, rows_of_time: int | None = None) -> tuple[dict[str, np.ndarray], list[Ended]]:
        """({name: (T, n, ...)}, the episodes that have ended). T: rows_of_time, by default the horizon of one iteration."""
        rows: list[dict[str, np.ndarray]] = []
        ended: list[Ended] = []
        first = self._environments.indices.start
        for time in range(rows_of_time or self._algorithm.horizon):
            acted = self._act()
            now = self._environments.step(acted["action"])
            rows.append(
                {
                    **acted,
                    "observation": self._observation,
                    "next_observation": now.next_observation,
                    "reward": now.reward,
                    "terminated": now.terminated,
                    "truncated": now.truncated,
                }
            )
            self._observation = now.observation
            self._returns += now.reward
            for row in np.flatnonzero(now.terminated | now.truncated):
                ended.append(Ended(time, first + int(row), float(self._returns[row])))
                self._returns[row] = 0
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}, ended

    def _act(self) -> dict[str, np.ndarray]:
        self._input[self._held] = self._observation
        batches = torch.from_numpy(self._input).to(self._device).split(self._rows)
        with torch.no_grad():
            acted: list[dict[str, Any]] = [
                self._algorithm.act(self._network, batch, random, self.steps)
                for batch, random in zip(batches, self._randoms)
            ]
        self.steps += 1
        return {name: torch.cat([one[name] for one in acted])[self._held].cpu().numpy() for name in acted[0]}
