"""`ray.util.state.common`: the records and the options of the state API, and its limits."""

from __future__ import annotations

import re
from typing import Any

from rayshim.errors.user_code import calling
from rayshim.util.state.exception import RayStateApiException
from rayshim.util.state.options import (
    DEFAULT_LIMIT,
    DEFAULT_LOG_LIMIT,
    DEFAULT_RPC_TIMEOUT,
    RAY_MAX_LIMIT_FROM_API_SERVER,
    RAY_MAX_LIMIT_FROM_DATA_SOURCE,
    GetApiOptions,
    ListApiOptions,
    StateResource,
    SummaryApiOptions,
    SummaryResource,
)
from rayshim.util.state.records import (
    ActorState,
    ClusterEventState,
    JobState,
    NodeState,
    ObjectState,
    PlacementGroupState,
    RuntimeEnvState,
    StateSchema,
    TaskState,
    WorkerState,
)

PredicateType = str  #: "=" or "!="
SupportedFilterType = str | bool | int | float
DEFAULT_DOWNLOAD_FILENAME: str = "file.txt"
DRIVER_TASK_ID_PREFIX: str = "f" * 40

_SCHEMAS: dict[StateResource, type[StateSchema]] = {
    StateResource.ACTORS: ActorState,
    StateResource.PLACEMENT_GROUPS: PlacementGroupState,
    StateResource.NODES: NodeState,
    StateResource.WORKERS: WorkerState,
    StateResource.JOBS: JobState,
    StateResource.TASKS: TaskState,
    StateResource.OBJECTS: ObjectState,
    StateResource.RUNTIME_ENVS: RuntimeEnvState,
    StateResource.CLUSTER_EVENTS: ClusterEventState,
}
AVAILABLE_STATES: list[type[StateSchema]] = [cls for cls in _SCHEMAS.values() if cls is not ClusterEventState]


def resource_to_schema(resource: StateResource) -> type[StateSchema]:
    """The class of the records of a resource. AssertionError for another value."""
    if resource not in _SCHEMAS:
        raise AssertionError(f"{resource!r} is no StateResource (resource_to_schema at {calling()})")
    return _SCHEMAS[resource]


def dict_to_state(d: dict[str, Any], state_resource: StateResource) -> StateSchema:
    """The record with these fields. RayStateApiException if they do not fit."""
    try:
        return resource_to_schema(state_resource)(**d)
    except Exception as error:
        raise RayStateApiException(f"Failed to convert {d} to StateSchema: {error} (at {calling()})") from error


def filter_fields(data: dict[str, Any], state_dataclass: type[StateSchema], detail: bool) -> dict[str, Any]:
    """The fields of a record of that class, from `data`; None where it has none. Without `detail` those that are always filled in."""
    return {name: data.get(name) for name in state_dataclass.list_columns(detail=detail)}


def remove_ansi_escape_codes(text: str) -> str:
    """The text without colors."""
    return re.sub(r"\x1b[^m]*m", "", text)


__all__ = [
    "AVAILABLE_STATES",
    "DEFAULT_DOWNLOAD_FILENAME",
    "DEFAULT_LIMIT",
    "DEFAULT_LOG_LIMIT",
    "DEFAULT_RPC_TIMEOUT",
    "DRIVER_TASK_ID_PREFIX",
    "RAY_MAX_LIMIT_FROM_API_SERVER",
    "RAY_MAX_LIMIT_FROM_DATA_SOURCE",
    "ActorState",
    "ClusterEventState",
    "GetApiOptions",
    "JobState",
    "ListApiOptions",
    "NodeState",
    "ObjectState",
    "PlacementGroupState",
    "PredicateType",
    "RuntimeEnvState",
    "StateResource",
    "StateSchema",
    "SummaryApiOptions",
    "SummaryResource",
    "SupportedFilterType",
    "TaskState",
    "WorkerState",
    "dict_to_state",
    "filter_fields",
    "remove_ansi_escape_codes",
    "resource_to_schema",
]
