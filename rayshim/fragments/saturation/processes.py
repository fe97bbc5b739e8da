"""The processes of an asynchronous deployment: samplers, the learner, the evaluator."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from rayshim.fragments.collector import Collector
from rayshim.fragments.environments import Environments
from rayshim.fragments.learner import Learner, load_into, new_network
from rayshim.fragments.saturation.meter import Watch, Work

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rayshim.fragments.algorithm import OffPolicy

Chunk = dict[str, np.ndarray]

#: Environments of a sampler, at most: their indices, and so their seeds, differ for each sampler and each number of environments.
MOST_ENVIRONMENTS = 1 << 10


def stream_of(algorithm: OffPolicy) -> OffPolicy:
    """The algorithm for a stream of single frames: trajectories of any shape (T, n) are handed to it as (T * n, 1)."""
    stream = copy.copy(algorithm)
    stream.environments, stream.rows = 1, 0
    return stream


def updates_of(frames: int, batch: int) -> int:
    """How many updates of `batch` frames update `frames` frames, at least 1."""
    return max(frames // batch, 1)


class Sampler:
    """Acts in its environments."""

    def __init__(self, algorithm: OffPolicy, device: str, number: int, clock: bool) -> None:
        torch.set_num_threads(1)
        self._algorithm, self._device, self._number, self._clock = stream_of(algorithm), device, number, clock
        self._network = new_network(algorithm, device)
        self._collectors: dict[int, Collector] = {}
        self._version = 0

    def collect(
        self, weights: np.ndarray | None, version: int, environments: int, rows: int, steps: int
    ) -> tuple[Chunk, tuple[Work, list[float]]]:
        """Trajectories of `rows` rows of time in so many environments, and (the work, the returns of the episodes that have ended).

        weights: of this version; None: the first ones. steps: of all samplers so far.
        """
        watch = Watch(self._clock)
        if weights is not None and version != self._version:
            load_into(self._network, weights)
            self._version = version
        collector = self._collectors.get(environments) or self._new_collector(environments)
        collector.steps = steps
        chunk, ended = collector.collect(rows)
        return chunk, (watch.work(rows * environments), [episode.value for episode in ended])

    def _new_collector(self, environments: int) -> Collector:
        first = (self._number * MOST_ENVIRONMENTS + environments) * MOST_ENVIRONMENTS
        held = Environments(self._algorithm, range(first, first + environments))
        collector = self._collectors[environments] = Collector(self._algorithm, held, self._network, self._device)
        return collector


class Updater:
    """Holds the replay buffer, and learns from it."""

    def __init__(self, algorithm: OffPolicy, device: str, clock: bool) -> None:
        self._algorithm, self._device, self._clock = stream_of(algorithm), device, clock
        self._frames = algorithm.batch * algorithm.updates
        self._learner = Learner(self._algorithm, range(1), device)
        self._empty: Chunk = {}

    def learn(self, batch: int, threads: int, *chunks: Mapping[str, np.ndarray]) -> tuple[np.ndarray, Work]:
        """Adds the chunks to the buffer, and makes one call of the algorithm's `learn`: updates of `batch` frames, and as many frames as without
        this deployment. Returns (the weights, the work); its frames are 0 if the algorithm did not yet learn."""
        watch = Watch(self._clock)
        torch.set_num_threads(threads)
        self._algorithm.batch, self._algorithm.updates = batch, updates_of(self._frames, batch)
        learned = self._learner.learn(self._stream(chunks))
        return self._learner.weights(), watch.work(batch * self._algorithm.updates if learned else 0)

    def weights(self) -> np.ndarray:
        return self._learner.weights()

    def evaluate(self, episodes: int, seed: int) -> list[float]:
        return self._algorithm.evaluate(self._learner.network, episodes, seed)

    def _stream(self, chunks: tuple[Mapping[str, np.ndarray], ...]) -> dict[str, torch.Tensor]:
        """All frames of these chunks as (frames, 1, ...)."""
        flat = [{name: part.reshape(-1, 1, *part.shape[2:]) for name, part in chunk.items()} for chunk in chunks]
        flat = flat or [self._empty]
        self._empty = {name: part[:0].copy() for name, part in flat[0].items()}
        return {
            name: torch.from_numpy(np.concatenate([chunk[name] for chunk in flat])).to(self._device) for name in flat[0]
        }


class Evaluator:
    """Plays episodes with the best actions."""

    def __init__(self, algorithm: OffPolicy, device: str) -> None:
        torch.set_num_threads(1)
        self._algorithm, self._network = stream_of(algorithm), new_network(algorithm, device)

    def evaluate(self, weights: np.ndarray, episodes: int, seed: int) -> float:
        """The mean return of `episodes` episodes."""
        load_into(self._network, weights)
        returns = self._algorithm.evaluate(self._network, episodes, seed)
        return sum(returns) / len(returns)


def actor(ray: Any, kind: type, name: str, gpu: float) -> Any:
    """The actor class of that kind; `name` is that of its role."""
    return ray.remote(type(name, (kind,), {"__module__": kind.__module__})).options(num_cpus=0, num_gpus=gpu)
