"""Deploys an algorithm: checks it, makes the processes of a policy, trains."""

from __future__ import annotations

import hashlib
import importlib
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rayshim.fragments.algorithm import METHODS, Algorithm, OffPolicy
from rayshim.fragments.arrangement import check_roles
from rayshim.fragments.measuring import best
from rayshim.fragments.policies import POLICIES, Policy
from rayshim.fragments.saturation.crew import Crew
from rayshim.fragments.saturation.decisions import Decision, save
from rayshim.fragments.saturation.policy import Saturating, saturating
from rayshim.fragments.team import Team

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    import numpy as np

    from rayshim.fragments.saturation.meter import Window

_EPISODES = 20  # of the mean return
_SECONDS_OF_AUTO = 3.0  # for each policy


@dataclass(frozen=True)
class Progress:
    """How far training is after an iteration.

    iteration: how many there have been. steps: environment steps so far. returns: those of the episodes that ended in this iteration.
    mean_return: of the last 20 episodes, nan before the first has ended. seconds: since `train` was called. updated: frames that this iteration
    updated, evaluation: the mean return of an evaluation that has ended; both only under the policy "saturate".
    """

    iteration: int
    steps: int
    returns: list[float] = field(repr=False)
    mean_return: float
    seconds: float
    updated: int = 0
    evaluation: float | None = None


def deploy(
    algorithm: Algorithm,
    policy: str | Policy = "coarse",
    devices: str | Mapping[str, str] = "cpu",
    *,
    replicas: int | None = None,
    ray: Any = None,
) -> Deployment:
    """Makes the processes that a distribution policy asks for, and gives the deployment, which trains.

    algorithm: an instance of a subclass of `Algorithm`. policy: a name in POLICIES, or a `Policy`, or "saturate", which is `saturating()`, or "auto": each of
    POLICIES is measured for a few seconds on this algorithm, the figures are printed, and the quickest is taken. devices: "cpu" or "cuda", or one of these for
    the name of each role; roles that are not named are on the CPU. replicas: of the policy's actors, for a policy given by name (default: 2; for "auto" the number of cores,
    for "saturate" what its controller chooses).
    ray: the module of Ray's API; by default the one of `ray` and `rayshim` that is initialised, else `rayshim`.

    Raises TypeError if the algorithm lacks a method, or is not for this policy, ValueError if the policy or a device does not exist or the environments cannot be divided.
    """
    _check_algorithm(algorithm)
    ray = ray or _running()
    if policy == "auto":
        policy = best(
            lambda policy: _start(algorithm, policy, devices, ray), algorithm.environments, replicas, _SECONDS_OF_AUTO
        )
    else:
        policy = _policy(policy, replicas)
    return _start(algorithm, policy, devices, ray)


def _start(algorithm: Algorithm, policy: Policy, devices: str | Mapping[str, str], ray: Any) -> Deployment:
    if isinstance(policy, Saturating):
        if not isinstance(algorithm, OffPolicy):
            raise TypeError(
                f"The policy 'saturate' is for algorithms that learn from a replay buffer, subclasses of rayshim.fragments.OffPolicy; "
                f"{type(algorithm).__name__} is none. Use another policy, such as 'coarse', or an algorithm such as SAC or DQN."
            )
        return Deployment(policy, Crew(algorithm, policy, _devices(policy, devices, ray), ray))
    check_roles(policy)
    return Deployment(policy, Team(algorithm, policy, _devices(policy, devices, ray), ray))


class Deployment:
    """An algorithm on the processes of a policy. As a context manager it closes itself.

    Attributes:
        policy: the policy. steps: environment steps so far.
        decisions: of the controller of the policy "saturate", so far; windows: what it has measured. Empty under other policies.
    """

    def __init__(self, policy: Policy, team: Team | Crew) -> None:
        self.policy: Policy = policy
        self.steps: int = 0
        self._team = team
        self._iterations = team.iterate() if isinstance(team, Crew) else policy.iterate(team)
        controller = team.controller if isinstance(team, Crew) else None
        self.decisions: list[Decision] = controller.decisions if controller else []
        self.windows: list[Window] = controller.windows if controller else []
        self._count = 0
        self._last: deque[float] = deque(maxlen=_EPISODES)

    def train(
        self, *, iterations: int | None = None, steps: int | None = None, until_return: float | None = None
    ) -> Iterator[Progress]:
        """Trains, and yields the progress after each iteration. Another call goes on where this one has ended.

        iterations: how many; steps: environment steps, of which the last iteration may make more; until_return: until the mean return of the
        last 20 episodes is at least this. The first of them that is reached ends the training.
        """
        if iterations is None and steps is None and until_return is None:
            raise ValueError("train() needs an end: iterations=, steps= or until_return=.")
        return self._train(iterations, steps, until_return)

    def _train(self, iterations: int | None, steps: int | None, until: float | None) -> Iterator[Progress]:
        begin, count, before = time.perf_counter(), self._count, self.steps
        while (iterations is None or self._count - count < iterations) and (
            steps is None or self.steps - before < steps
        ):
            iteration = next(self._iterations)
            self._count += 1
            self.steps += iteration.steps
            self._last.extend(iteration.returns)
            mean = sum(self._last) / len(self._last) if self._last else float("nan")
            seconds = time.perf_counter() - begin
            yield Progress(
                self._count, self.steps, iteration.returns, mean, seconds, iteration.updated, iteration.evaluation
            )
            if until is not None and len(self._last) == _EPISODES and mean >= until:
                return

    def evaluate(self, episodes: int = 10, seed: int = 1_000_000) -> list[float]:
        """Returns of that many episodes with the best actions of the newest weights, each in an environment seeded with seed + its number."""
        return self._team.ray.get(self._team.head.handle.evaluate.remote(episodes, seed))

    def weights(self) -> np.ndarray:
        """The newest weights of all parameters that are trained: float32, one after the other in the order of the network's parameters."""
        return self._team.ray.get(self._team.head.handle.weights.remote())

    def digest(self) -> str:
        """SHA-256 of `weights`, hexadecimal: equal if and only if all bits are equal."""
        return hashlib.sha256(self.weights().tobytes()).hexdigest()

    def save_decisions(self, path: str | os.PathLike[str]) -> None:
        """Writes `decisions` to a file, for `saturating(decisions=path)`."""
        save(self.decisions, path)

    def close(self) -> None:
        """Ends the processes."""
        self._team.close()

    def __enter__(self) -> Deployment:  # noqa: PYI034  typing.Self is Python 3.11's
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _running() -> Any:
    for name in ("ray", "rayshim"):
        module = sys.modules.get(name)
        if module is not None and module.is_initialized():
            return module
    return importlib.import_module("rayshim")


def _check_algorithm(algorithm: Algorithm) -> None:
    if not isinstance(algorithm, Algorithm):
        raise TypeError(
            f"deploy() got {algorithm!r} as the algorithm; it must be an instance of a subclass of rayshim.fragments.Algorithm."
        )
    kind = type(algorithm)
    missing = [call for name, call in METHODS.items() if getattr(kind, name) is getattr(Algorithm, name)]
    if missing:
        raise TypeError(
            f"The algorithm {kind.__name__} lacks {', '.join(missing)}. Each is described in the docstring of that method in rayshim.fragments.Algorithm."
        )


def _policy(policy: str | Policy, replicas: int | None) -> Policy:
    if isinstance(policy, Policy):
        if replicas is not None:
            raise ValueError(
                f"replicas={replicas} is for a policy given by name; {policy.name!r} says its replicas itself."
            )
        return policy
    if policy == "saturate":
        return saturating(samplers=replicas)
    if policy not in POLICIES:
        raise ValueError(
            f"There is no policy {policy!r}. The policies are {', '.join(POLICIES)}, saturate and auto, or give an instance of Policy."
        )
    return POLICIES[policy]() if replicas is None else POLICIES[policy](replicas)


def _devices(policy: Policy, devices: str | Mapping[str, str], ray: Any) -> dict[str, tuple[str, float]]:
    """{role: (device, share of a GPU of each process)}. Roles that hold environments alone have no network, and stay on the CPU."""
    names = [role.name for role in policy.roles]
    with_network = [role.name for role in policy.roles if role.fragments != ("environments",)]
    placed = dict.fromkeys(with_network, devices) if isinstance(devices, str) else devices
    for name, device in placed.items():
        if name not in names:
            raise ValueError(
                f"devices= names the role {name!r}; the roles of the policy {policy.name!r} are {', '.join(names)}."
            )
        if device not in ("cpu", "cuda"):
            raise ValueError(f"devices= puts {name!r} on {device!r}; a device is 'cpu' or 'cuda'.")
    processes = sum(role.replicas for role in policy.roles if placed.get(role.name) == "cuda")
    if processes == 0:
        return dict.fromkeys(names, ("cpu", 0.0))
    if not ray.is_initialized():
        ray.init()
    gpus = int(ray.cluster_resources().get("GPU", 0))
    if gpus == 0:
        raise ValueError(
            f"devices= puts {processes} of the processes on 'cuda', and there is no GPU. Use 'cpu', or init(num_gpus=) if there is one."
        )
    share = 1 / -(-processes // gpus)
    return {name: ("cuda", share) if placed.get(name) == "cuda" else ("cpu", 0.0) for name in names}
