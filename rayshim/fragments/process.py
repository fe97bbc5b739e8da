"""The actor that holds fragments."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from rayshim.fragments.collector import Collector, Ended
from rayshim.fragments.environments import Environments, RemoteEnvironments
from rayshim.fragments.learner import Learner, Part, load_into, new_network

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rayshim.fragments.algorithm import Algorithm, Batch
    from rayshim.fragments.environments import Stepped

Trajectory = dict[str, np.ndarray]


class Process:
    """Any of the four fragments. All have one thread for torch: a second one would be another's core, and would change the order of sums."""

    def __init__(
        self,
        algorithm: Algorithm,
        device: str,
        environments: range | None,
        sources: Sequence[tuple[Any, range]],
        learns: range | None,
        acts: bool,
        ray: str,
    ) -> None:
        """environments: those held here. sources: processes with those in which this one acts. learns: those whose trajectories come here.
        ray: name of the module that the program has as `ray`."""
        torch.set_num_threads(1)
        self._algorithm, self._device = algorithm, device
        self._environments = Environments(algorithm, environments) if environments is not None else None
        self._learner = Learner(algorithm, learns, device) if learns is not None else None
        self._network: Any = (
            self._learner.network if self._learner else new_network(algorithm, device) if acts else None
        )
        self._collector = None
        if acts:
            held = self._environments
            if held is None:
                handles, parts = zip(*sources)
                held = RemoteEnvironments(handles, parts, importlib.import_module(ray).get)
            self._collector = Collector(algorithm, held, self._network, device)
        self._kept: list[Trajectory] = []

    # environments
    def reset(self) -> np.ndarray:
        return self._environments.reset()

    def step(self, actions: np.ndarray) -> Stepped:
        return self._environments.step(actions)

    # act
    def collect(self, weights: np.ndarray | None, keep: bool) -> tuple[Trajectory | None, list[Ended]]:
        """keep: the trajectory stays here, for `begin` or `learn`."""
        if weights is not None and self._learner is None:
            load_into(self._network, weights)
        trajectory, returns = self._collector.collect()
        if keep:
            self._kept.append(trajectory)
            return None, returns
        return trajectory, returns

    # gradient
    def begin(self, *trajectories: Trajectory) -> tuple[bool, Part | None]:
        """(whether `learn` asks for something, what)"""
        part = self._learner.begin(self._batch(trajectories))
        return part is not None, part

    def resume(self, answer: np.ndarray | None, *parts: Part) -> tuple[bool, Part | None]:
        """`answer` of the server, or the parts of all learners, which are combined here."""
        part = self._learner.resume(self._learner.combine(parts) if parts else answer)
        return part is not None, part

    # update
    def combine(self, *parts: Part) -> np.ndarray:
        """The answer to the requests of several learners: a mean, or the weights after the step."""
        mean = self._learner.combine(parts)
        return self._learner.weights() if mean is None else mean

    def learn(self, send: bool, *trajectories: Trajectory) -> np.ndarray | None:
        """Learns alone; gives the weights if they are to be sent."""
        self._learner.learn(self._batch(trajectories))
        return self._learner.weights() if send else None

    def weights(self) -> np.ndarray:
        return self._learner.weights()

    def evaluate(self, episodes: int, seed: int) -> list[float]:
        return self._algorithm.evaluate(self._learner.network, episodes, seed)

    def _batch(self, trajectories: Sequence[Trajectory]) -> Batch:
        parts = trajectories or [self._kept.pop(0)]
        return {
            name: torch.from_numpy(np.concatenate([part[name] for part in parts], axis=1)).to(self._device)
            for name in parts[0]
        }
