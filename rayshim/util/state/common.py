"""`ray.util.state.common`: the records of the state API, and its limits."""

from rayshim.util.state.records import (
    ActorState,
    JobState,
    NodeState,
    PlacementGroupState,
    TaskState,
    WorkerState,
)

__all__ = [
    "RAY_MAX_LIMIT_FROM_API_SERVER",
    "RAY_MAX_LIMIT_FROM_DATA_SOURCE",
    "ActorState",
    "JobState",
    "NodeState",
    "PlacementGroupState",
    "TaskState",
    "WorkerState",
]

RAY_MAX_LIMIT_FROM_API_SERVER = RAY_MAX_LIMIT_FROM_DATA_SOURCE = 10_000
