"""The records that the state API lists. Fields after `DETAIL` in a class are None unless `detail=True`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from typing_extensions import Self


class Record:
    """A dataclass whose fields can also be read by key."""

    DETAIL: ClassVar[tuple[str, ...]] = ()

    def __getitem__(self, key: str) -> Any:
        if key not in self.columns():
            raise KeyError(key)
        return getattr(self, key)

    def get(self, key: str, default: Any = None) -> Any:
        return getattr(self, key) if key in self.columns() else default

    def asdict(self) -> dict[str, Any]:
        return asdict(self)  # pyright: ignore[reportArgumentType]

    @classmethod
    def columns(cls) -> set[str]:
        """The names of its fields."""
        return {f.name for f in fields(cls)}  # pyright: ignore[reportArgumentType]

    def brief(self) -> Self:
        """This record without its details."""
        return type(self)(**{**{name: getattr(self, name) for name in self.columns()}, **dict.fromkeys(self.DETAIL)})


@dataclass
class ActorState(Record):
    """`state`: PENDING_CREATION, RESTARTING, ALIVE or DEAD."""

    actor_id: str
    class_name: str
    state: str
    job_id: str
    name: str
    node_id: str
    pid: int
    ray_namespace: str
    required_resources: dict[str, float] | None
    death_cause: dict[str, Any] | None
    is_detached: bool | None
    placement_group_id: str | None
    num_restarts: int | None

    DETAIL: ClassVar[tuple[str, ...]] = (
        "required_resources",
        "death_cause",
        "is_detached",
        "placement_group_id",
        "num_restarts",
    )


@dataclass
class TaskState(Record):
    """A call that has ended, in a session with `trace=True`; times in ms of the machine's monotonic clock."""

    task_id: str
    attempt_number: int
    name: str
    state: str
    job_id: str
    actor_id: str | None
    type: str
    func_or_class_name: str
    node_id: str
    worker_pid: int
    start_time_ms: float | None
    end_time_ms: float | None

    DETAIL: ClassVar[tuple[str, ...]] = ("start_time_ms", "end_time_ms")


@dataclass
class NodeState(Record):
    node_id: str
    node_ip: str
    is_head_node: bool
    state: str
    state_message: str | None
    node_name: str
    resources_total: dict[str, float]
    labels: dict[str, str]


@dataclass
class JobState(Record):
    type: str
    job_id: str
    submission_id: str | None
    status: str
    entrypoint: str
    driver_info: dict[str, str]


@dataclass
class WorkerState(Record):
    worker_id: str
    is_alive: bool
    worker_type: str
    exit_type: str | None
    node_id: str
    ip: str
    pid: int


@dataclass
class PlacementGroupState(Record):
    placement_group_id: str
    name: str
    creator_job_id: str
    state: str
    bundles: list[dict[str, Any]] | None
    is_detached: bool | None
    stats: dict[str, Any] | None

    DETAIL: ClassVar[tuple[str, ...]] = ("bundles", "is_detached", "stats")
