"""The policy of an asynchronous deployment: what the user allows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rayshim.fragments.policies import Policy, Role
from rayshim.fragments.saturation.climbing import KNOBS, Setting
from rayshim.fragments.saturation.decisions import Decision, load
from rayshim.fragments.saturation.processes import MOST_ENVIRONMENTS

if TYPE_CHECKING:
    from rayshim.fragments.algorithm import OffPolicy

_COUNTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)


@dataclass(frozen=True)
class Saturating(Policy):
    """Samplers, the learner and the evaluator run at their own pace, within a ratio of updated to sampled frames; a controller chooses a `Setting` by
    measurement (Spreeze: Hou et al., "Spreeze: High-Throughput Parallel Reinforcement Learning Framework", TPDS 2024). `saturating` makes it."""

    name: str = "saturate"
    roles: tuple[Role, ...] = ()
    replay_ratio: tuple[float, float] | None = None
    allowed: dict[str, tuple[int, ...]] = field(default_factory=dict)
    evaluate_every: int = 100
    episodes: int = 5
    window: float = 0.75
    seconds: float = 60.0
    decisions: tuple[Decision, ...] = ()

    def ratio(self, algorithm: OffPolicy) -> tuple[float, float]:
        """(least, greatest) updated frames by sampled frames; by default that of the algorithm under synchronous policies."""
        own = algorithm.batch * algorithm.updates / (algorithm.environments * algorithm.horizon)
        return self.replay_ratio or (own, own)

    def values(self, algorithm: OffPolicy) -> dict[str, tuple[int, ...]]:
        """{field of Setting: the values that the controller may choose}"""
        default = {
            "samplers": _up_to(4 * cores()),
            "environments": (1, 2, 4, 8, 16, 32),
            "chunk": (16, 32, 64, 128, 256),
            "batch": (algorithm.batch,),
            "threads": _up_to(cores()),
        }
        return {**default, **self.allowed}

    def start(self, algorithm: OffPolicy) -> Setting:
        """The first setting: the allowed values that are nearest to a usual one."""
        usual = {
            "samplers": max(cores() - 1, 1),
            "environments": algorithm.environments,
            "chunk": 64,
            "batch": algorithm.batch,
            "threads": 1,
        }
        values = self.values(algorithm)
        return Setting(**{knob: min(values[knob], key=lambda value: abs(value - usual[knob])) for knob in KNOBS})


def saturating(
    replay_ratio: float | tuple[float, float] | None = None,
    *,
    samplers: int | Sequence[int] | None = None,
    environments: int | Sequence[int] | None = None,
    chunk: int | Sequence[int] | None = None,
    batch: int | Sequence[int] | None = None,
    threads: int | Sequence[int] | None = None,
    evaluate_every: int = 100,
    episodes: int = 5,
    window: float = 0.75,
    seconds: float = 60.0,
    decisions: str | os.PathLike[str] | Sequence[Decision] | None = None,
) -> Saturating:
    """The policy for algorithms that learn from a replay buffer (`OffPolicy`): all processes run at their own pace, and a controller measures which setting
    samples and updates the most frames a second.

    replay_ratio: updated frames by sampled frames, or (least, greatest). The learner waits at the greatest, samplers at the least; 0: they never
        wait. Default: the ratio that the algorithm has under synchronous policies, batch * updates / (environments * horizon).
    samplers: processes with environments. environments: of each sampler. chunk: frames that a sampler sends at once. batch: frames of one update. threads:
        torch's threads of the learner. A number fixes it, a sequence has the values that the controller may choose. Defaults: samplers up to four times the number of
        cores, 1 to 32 environments, chunks of 16 to 256, the algorithm's batch, threads up to the number of cores.
    evaluate_every: calls of `learn` between evaluations of `episodes` episodes; 0: there are none.
    window: seconds of one measurement, at least. seconds: of a search, at most.
    decisions: of an earlier run, or a file that `Deployment.save_decisions` has written: they are repeated, and nothing is measured.

    Raises ValueError if a value is out of its range, or the file has no decisions.
    """
    given = {"samplers": samplers, "environments": environments, "chunk": chunk, "batch": batch, "threads": threads}
    allowed = {name: _values(name, value) for name, value in given.items() if value is not None}
    if max(allowed.get("environments", (1,))) >= MOST_ENVIRONMENTS:
        raise ValueError(f"environments={environments!r}: a sampler has fewer than {MOST_ENVIRONMENTS} environments.")
    for name, value, least in (("evaluate_every", evaluate_every, 0), ("episodes", episodes, 1)):
        if not isinstance(value, int) or value < least:
            raise ValueError(f"{name}={value!r} must be a whole number, at least {least}.")
    for name, value in (("window", window), ("seconds", seconds)):
        if not value > 0:
            raise ValueError(f"{name}={value!r} must be more than 0 seconds.")
    most = max(allowed.get("samplers", _up_to(4 * cores())))
    roles = (
        Role("Sampler", ("environments", "act"), most),
        Role("Learner", ("gradient", "update")),
        Role("Evaluator", ("act",)),
    )
    return Saturating(
        roles=roles,
        replay_ratio=_ratio(replay_ratio),
        allowed=allowed,
        evaluate_every=evaluate_every,
        episodes=episodes,
        window=window,
        seconds=seconds,
        decisions=_decisions(decisions),
    )


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0))


def _up_to(most: int) -> tuple[int, ...]:
    """Numbers of processes or threads, each at most twice the one before."""
    return tuple(count for count in _COUNTS if count <= most)


def _values(name: str, value: Any) -> tuple[int, ...]:
    values = tuple(value) if isinstance(value, Sequence) else (value,)
    if not values or not all(isinstance(one, int) and one >= 1 for one in values):
        raise ValueError(f"{name}={value!r} must be a whole number, at least 1, or a sequence of such numbers.")
    return tuple(sorted(set(values)))


def _ratio(value: Any) -> tuple[float, float] | None:
    if value is None:
        return None
    pair = (value, value) if isinstance(value, (int, float)) else value
    try:
        low, high = (float(one) for one in pair)
    except (TypeError, ValueError):
        low, high = 1.0, 0.0
    if not 0 <= low <= high or high == 0:
        raise ValueError(
            f"replay_ratio={value!r} must be a number greater than 0, or a pair (least, greatest) of updated frames by sampled frames."
        )
    return low, high


def _decisions(given: str | os.PathLike[str] | Sequence[Decision] | None) -> tuple[Decision, ...]:
    if given is None:
        return ()
    if isinstance(given, (str, os.PathLike)):
        return tuple(load(given))
    if not given or not all(isinstance(one, Decision) for one in given):
        raise ValueError(
            f"decisions={given!r} must be a file that save_decisions() has written, or `Deployment.decisions`."
        )
    return tuple(given)
