"""`ray.util.state.common`: the records and the options of the state API, and its limits."""

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

__all__ = [
    "DEFAULT_LIMIT",
    "DEFAULT_LOG_LIMIT",
    "DEFAULT_RPC_TIMEOUT",
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
    "RuntimeEnvState",
    "StateResource",
    "StateSchema",
    "SummaryApiOptions",
    "SummaryResource",
    "TaskState",
    "WorkerState",
]
