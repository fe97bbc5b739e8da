"""Measures policies on the algorithm that is to be deployed."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from rayshim.fragments.policies import POLICIES

if TYPE_CHECKING:
    from collections.abc import Callable

    from rayshim.fragments.deployment import Deployment
    from rayshim.fragments.policies import Policy

_ENDLESS = 2**62


def candidates(replicas: int) -> list[Policy]:
    """All synchronous policies, with that many replicas."""
    return [make() if name == "one-device" else make(replicas) for name, make in POLICIES.items()]


def steps_per_second(deployment: Deployment, seconds: float) -> float:
    """Environment steps a second of a deployment, learning included. A first iteration does not count."""
    for _ in deployment.train(iterations=1):
        deployment.weights()  # waits until it has learned
    begin, before = time.perf_counter(), deployment.steps
    for progress in deployment.train(steps=_ENDLESS):
        if progress.seconds >= seconds:
            break
    deployment.weights()
    return (deployment.steps - before) / (time.perf_counter() - begin)


def best(deploy: Callable[[Policy], Deployment], environments: int, replicas: int | None, seconds: float) -> Policy:
    """The policy with the most environment steps a second, each measured for `seconds`; prints the figures.

    deploy: makes a deployment of a policy. replicas: of each policy; None is the number of cores, at most `environments`.
    """
    replicas = replicas or min(len(os.sched_getaffinity(0)), environments)
    found: list[tuple[float, Policy]] = []
    for policy in candidates(replicas):
        try:
            deployment = deploy(policy)
        except ValueError as error:
            print(f"policy auto: {policy.name} left out: {error}")
            continue
        with deployment:
            found.append((steps_per_second(deployment, seconds), policy))
        print(f"policy auto: {policy.name}, {replicas} replicas: {found[-1][0]:,.0f} steps/s", flush=True)
    speed, chosen = max(found, key=lambda one: one[0])
    print(f"policy auto: chose {chosen.name}, {speed:,.0f} steps/s", flush=True)
    return chosen
