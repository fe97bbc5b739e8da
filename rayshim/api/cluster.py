"""Facts about this machine in the form in which Ray describes a cluster."""

from __future__ import annotations

import os
import re
from typing import Any

from reactor import _core

from rayshim.errors.address import get_node_ip_address
from rayshim.errors.exceptions import RaySystemError
from rayshim.errors.user_code import at
from rayshim.session import session

_OF_GROUP = re.compile("_group_(.*_)?[0-9a-f]{36}$").search  # resources of placement groups, under names of their own


def _needs_session(function):
    if session.current is None:
        raise RaySystemError(
            "Ray has not been started yet. Trying to use state API before ray.init() has been called. "
            f"({at(function)}: call init() first)"
        )
    return session.current


def cluster_resources() -> dict[str, float]:
    """All resources of the session, used or free: {name: amount}. Resources that placement groups have reserved are listed a second time, under
    the names by which their tasks and actors request them."""
    _needs_session("cluster_resources")
    return {name: amount.total / _core.UNIT for name, amount in _core.resources().items() if amount.total}


def resources_of_the_node() -> dict[str, float]:
    """As `cluster_resources`, without the names of placement groups."""
    return {name: amount for name, amount in cluster_resources().items() if not _OF_GROUP(name)}


def available_resources() -> dict[str, float]:
    """The resources that are free now: {name: amount}. A resource of which nothing is free is not in the dict."""
    _needs_session("available_resources")
    free = {name: amount.free / _core.UNIT for name, amount in _core.resources().items()}
    free["object_store_memory"] -= _core.large_values()  # as in Ray, small ones do not count
    return {name: amount for name, amount in free.items() if amount > 0}


def nodes() -> list[dict[str, Any]]:
    """A list with one dict, which describes this machine with the same keys as on Ray. Raises RaySystemError without a session."""
    s = _needs_session("nodes")
    return [
        {
            "NodeID": s.settings.node,
            "Alive": True,
            "NodeManagerAddress": get_node_ip_address(),
            "NodeManagerHostname": os.uname().nodename,
            "NodeManagerPort": 0,
            "ObjectManagerPort": 0,
            "ObjectStoreSocketName": "",
            "RayletSocketName": "",
            "MetricsExportPort": 0,
            "MetricsAgentPort": 0,
            "DashboardAgentListenPort": 0,
            "NodeName": get_node_ip_address(),
            "RuntimeEnvAgentPort": 0,
            "DeathReason": 0,
            "DeathReasonMessage": "",
            "alive": True,
            "Resources": resources_of_the_node(),
            "Labels": dict(s.settings.labels),
        }
    ]
