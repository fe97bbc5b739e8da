"""The one machine, as Ray describes a cluster."""

from __future__ import annotations

import os
from typing import Any

from reactor import _core

from rayshim.errors.exceptions import RaySystemError
from rayshim.errors.sites import at
from rayshim.session import session


def _amounts(which: int) -> dict[str, float]:
    session.ensure()
    amounts = {name: pair[which] / _core.UNIT for name, pair in _core.resources().items()}
    if which == 1:
        amounts["object_store_memory"] -= _core.large_values()  # as in Ray, small ones do not count
    return amounts


def cluster_resources() -> dict[str, float]:
    """{resource: amount} that the machine offers."""
    return {name: amount for name, amount in _amounts(0).items() if amount}


def available_resources() -> dict[str, float]:
    """{resource: amount} that is free now; what is used up is left out."""
    return {name: amount for name, amount in _amounts(1).items() if amount > 0}


def nodes() -> list[dict[str, Any]]:
    """A list with this machine's entry, with the keys that Ray gives. RaySystemError without a session."""
    s = session.current
    if s is None:
        raise RaySystemError(
            "Ray has not been started yet. Trying to use state API before ray.init() has been called. "
            f"({at('nodes')}: call init() first)"
        )
    return [
        {
            "NodeID": s.settings["node"],
            "Alive": True,
            "NodeManagerAddress": "127.0.0.1",
            "NodeManagerHostname": os.uname().nodename,
            "NodeManagerPort": 0,
            "ObjectManagerPort": 0,
            "ObjectStoreSocketName": "",
            "RayletSocketName": "",
            "MetricsExportPort": 0,
            "NodeName": "127.0.0.1",
            "RuntimeEnvAgentPort": 0,
            "DeathReason": 0,
            "DeathReasonMessage": "",
            "alive": True,
            "Resources": cluster_resources(),
            "Labels": dict(s.settings["labels"]),
        }
    ]
