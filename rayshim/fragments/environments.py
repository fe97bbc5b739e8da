"""Environments of one process, and environments in other processes, behind the same three methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rayshim.fragments.algorithm import Algorithm


class Stepped(NamedTuple):
    """What n environments gave in one step."""

    observation: (
        np.ndarray
    )  #: float32 (n, *observation), from which to act; the first of the next episode where one has ended
    next_observation: np.ndarray  #: float32 (n, *observation), the last of its episode where one has ended
    reward: np.ndarray  #: float32 (n)
    terminated: np.ndarray  #: bool (n)
    truncated: np.ndarray  #: bool (n)


class Environments:
    """Environments of this process, one after the other in gymnasium's vector. Environment i is seeded by (seed, i)."""

    def __init__(self, algorithm: Algorithm, indices: range) -> None:
        self.indices = indices
        self._vector = gymnasium.vector.SyncVectorEnv(
            [algorithm.make_environment] * len(indices), autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP
        )
        self._seeds: list[int | None] = [algorithm.seed * 1_000_003 + index for index in indices]

    def reset(self) -> np.ndarray:
        """The first observations, float32 (n, *observation)."""
        return np.asarray(self._vector.reset(seed=self._seeds)[0], np.float32)

    def step(self, actions: np.ndarray) -> Stepped:
        """actions: (n, *action)."""
        observation, reward, terminated, truncated, infos = self._vector.step(actions)
        observation = np.asarray(observation, np.float32)
        last = observation
        if "final_obs" in infos:
            last = observation.copy()
            for row in np.flatnonzero(terminated | truncated):
                last[row] = infos["final_obs"][row]
        return Stepped(observation, last, reward.astype(np.float32), terminated, truncated)


class RemoteEnvironments:
    """Environments of other processes, in the order of their indices: actions go there, what they give comes back."""

    def __init__(self, handles: Sequence[Any], parts: Sequence[range], get: Callable[[list], list]) -> None:
        """handles: actors with the fragment `environments`, each with those of its part. get: ray.get."""
        self.indices: range = range(parts[0].start, parts[-1].stop)
        self._parts = [
            (handle, slice(p.start - parts[0].start, p.stop - parts[0].start)) for handle, p in zip(handles, parts)
        ]
        self._get = get

    def reset(self) -> np.ndarray:
        return np.concatenate(self._get([handle.reset.remote() for handle, _ in self._parts]))

    def step(self, actions: np.ndarray) -> Stepped:
        found = self._get([handle.step.remote(actions[part]) for handle, part in self._parts])
        return Stepped(*(np.concatenate(values) for values in zip(*found)))
