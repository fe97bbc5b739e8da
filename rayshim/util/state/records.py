"""The records that the state API lists, with Ray's fields. A field that this runtime does not know is None, or what Ray has there for "none"."""

from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from typing_extensions import Self

    from rayshim.jobs.types import DriverInfo, JobStatus, JobType


class StateSchema:
    """A dataclass whose fields can also be read by key. Fields with a default are details. `KEYS`: those that filters may name."""

    KEYS: ClassVar[str]

    def __getitem__(self, key: str) -> Any:
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, key, value)

    def get(self, key: str, default: Any = None) -> Any:
        return getattr(self, key, default)

    def asdict(self) -> dict[str, Any]:
        return asdict(self)  # pyright: ignore[reportArgumentType]

    @classmethod
    def list_columns(cls, detail: bool = True) -> list[str]:
        """The names of its fields; without `detail` those that are always filled in."""
        every = fields(cls)  # pyright: ignore[reportArgumentType]
        return [f.name for f in every if detail or f.default is MISSING]

    @classmethod
    def columns(cls) -> set[str]:
        """The names of its fields."""
        return set(cls.list_columns())

    @classmethod
    def base_columns(cls) -> set[str]:
        """The names of the fields that are always filled in."""
        return set(cls.list_columns(detail=False))

    @classmethod
    def detail_columns(cls) -> set[str]:
        """The names of the fields that `detail=True` fills in: all."""
        return cls.columns()

    @classmethod
    def filterable_columns(cls) -> set[str]:
        """The names of the fields that filters may name."""
        return set(cls.KEYS.split())

    def brief(self) -> Self:
        """This record without its details."""
        return type(self)(**{name: getattr(self, name) for name in self.list_columns(detail=False)})


@dataclass
class ActorState(StateSchema):
    """`state`: PENDING_CREATION, RESTARTING, ALIVE or DEAD."""

    actor_id: str
    class_name: str
    state: str
    job_id: str
    name: str | None
    node_id: str | None
    pid: int | None
    ray_namespace: str | None
    serialized_runtime_env: str | None = None
    required_resources: dict[str, float] | None = None
    death_cause: dict[str, Any] | None = None
    is_detached: bool | None = None
    placement_group_id: str | None = None
    repr_name: str | None = None
    num_restarts: int | None = None
    num_restarts_due_to_lineage_reconstruction: int | None = None
    num_restarts_due_to_node_preemption: int | None = None
    call_site: str | None = None
    label_selector: dict[str, str] | None = None
    fallback_strategy: dict[str, Any] | None = None

    KEYS: ClassVar[str] = "actor_id class_name state job_id name node_id pid ray_namespace placement_group_id repr_name"


@dataclass
class TaskState(StateSchema):
    """A call. `task_id` is "" where it is not known: of calls that have ended or run, unless the session has `trace=True`.

    Times are in ms since 1970."""

    task_id: str
    attempt_number: int
    name: str
    state: str
    job_id: str
    actor_id: str | None
    type: str
    func_or_class_name: str
    parent_task_id: str
    node_id: str | None
    worker_id: str | None
    worker_pid: int | None
    error_type: str | None
    language: str | None = None
    required_resources: dict[str, float] | None = None
    runtime_env_info: dict[str, Any] | None = None
    placement_group_id: str | None = None
    events: list[dict[str, Any]] | None = None
    profiling_data: dict[str, Any] | None = None
    creation_time_ms: int | None = None
    start_time_ms: int | None = None
    end_time_ms: int | None = None
    task_log_info: dict[str, Any] | None = None
    error_message: str | None = None
    is_debugger_paused: bool | None = None
    call_site: str | None = None
    label_selector: dict[str, str] | None = None
    fallback_strategy: dict[str, Any] | None = None

    KEYS: ClassVar[str] = (
        "task_id attempt_number name state job_id actor_id type func_or_class_name parent_task_id node_id worker_id worker_pid error_type language placement_group_id is_debugger_paused"
    )


@dataclass
class NodeState(StateSchema):
    node_id: str
    node_ip: str
    is_head_node: bool
    state: str
    state_message: str | None
    node_name: str
    resources_total: dict[str, float]
    labels: dict[str, str]
    start_time_ms: int | None = None
    end_time_ms: int | None = None

    KEYS: ClassVar[str] = "node_id node_ip is_head_node state node_name"


@dataclass
class JobState(StateSchema):
    type: JobType
    job_id: str | None
    submission_id: str | None
    driver_info: DriverInfo | None
    status: JobStatus
    entrypoint: str
    message: str | None
    error_type: str | None
    start_time: int | None = None
    end_time: int | None = None
    metadata: dict[str, str] | None = None
    runtime_env: dict[str, Any] | None = None
    driver_agent_http_address: str | None = None
    driver_node_id: str | None = None
    driver_exit_code: int | None = None

    KEYS: ClassVar[str] = "type job_id submission_id status"


@dataclass
class WorkerState(StateSchema):
    worker_id: str
    is_alive: bool
    worker_type: str
    exit_type: str | None
    node_id: str
    ip: str
    pid: int
    exit_detail: str | None = None
    worker_launch_time_ms: int | None = None
    worker_launched_time_ms: int | None = None
    start_time_ms: int | None = None
    end_time_ms: int | None = None
    debugger_port: int | None = None
    num_paused_threads: int | None = None

    KEYS: ClassVar[str] = "worker_id is_alive worker_type exit_type node_id ip pid debugger_port num_paused_threads"


@dataclass
class PlacementGroupState(StateSchema):
    placement_group_id: str
    name: str
    creator_job_id: str
    state: str
    bundles: list[dict[str, Any]] | None = None
    is_detached: bool | None = None
    stats: dict[str, Any] | None = None
    topology_strategy: dict[str, Any] | None = None
    topology_assignments: dict[str, Any] | None = None

    KEYS: ClassVar[str] = "placement_group_id name creator_job_id state is_detached"


@dataclass
class ObjectState(StateSchema):
    object_id: str
    object_size: int
    task_status: str
    attempt_number: int
    reference_type: str
    call_site: str
    type: str
    pid: int
    ip: str

    KEYS: ClassVar[str] = "object_id object_size task_status attempt_number reference_type call_site type pid ip"


@dataclass
class RuntimeEnvState(StateSchema):
    runtime_env: dict[str, Any]
    success: bool
    creation_time_ms: float | None
    node_id: str
    ref_cnt: int | None = None
    error: str | None = None

    KEYS: ClassVar[str] = "runtime_env success node_id error"


@dataclass
class ClusterEventState(StateSchema):
    severity: str
    time: str
    source_type: str
    message: str
    event_id: str
    custom_fields: dict[str, Any] | None = None

    KEYS: ClassVar[str] = "severity source_type event_id"


for _class in [value for value in globals().values() if isinstance(value, type) and value.__module__ == __name__]:
    _class.__module__ = "rayshim.util.state.common"  # from where programs import them
del _class
