"""The facts of a job, under Ray's names."""

from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any


class JobStatus(str, Enum):
    """The state of a job."""

    __module__ = "rayshim.job_submission"

    PENDING = "PENDING"  #: it has not started yet
    RUNNING = "RUNNING"
    STOPPED = "STOPPED"  #: by `stop_job`
    SUCCEEDED = "SUCCEEDED"  #: its command has ended with exit code 0
    FAILED = "FAILED"

    def __str__(self) -> str:
        return self.value

    def is_terminal(self) -> bool:
        """Whether the job has ended."""
        return self in (JobStatus.STOPPED, JobStatus.SUCCEEDED, JobStatus.FAILED)


class JobErrorType(str, Enum):
    """The reason why a job has failed."""

    __module__ = "rayshim.job_submission"

    RUNTIME_ENV_SETUP_FAILURE = "RUNTIME_ENV_SETUP_FAILURE"
    JOB_SUPERVISOR_ACTOR_START_TIMEOUT = "JOB_SUPERVISOR_ACTOR_START_TIMEOUT"
    JOB_SUPERVISOR_ACTOR_START_FAILURE = "JOB_SUPERVISOR_ACTOR_START_FAILURE"
    JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE = "JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE"
    JOB_SUPERVISOR_ACTOR_UNKNOWN_FAILURE = "JOB_SUPERVISOR_ACTOR_UNKNOWN_FAILURE"
    JOB_SUPERVISOR_ACTOR_DIED = "JOB_SUPERVISOR_ACTOR_DIED"
    JOB_ENTRYPOINT_COMMAND_START_ERROR = "JOB_ENTRYPOINT_COMMAND_START_ERROR"
    JOB_ENTRYPOINT_COMMAND_ERROR = "JOB_ENTRYPOINT_COMMAND_ERROR"


class JobType(str, Enum):
    """SUBMISSION: a job of `submit_job`; DRIVER: a program that no job has started."""

    __module__ = "rayshim.job_submission"

    SUBMISSION = "SUBMISSION"
    DRIVER = "DRIVER"


_MESSAGES = {
    JobStatus.PENDING: "Job has not started yet.",
    JobStatus.RUNNING: "Job is currently running.",
    JobStatus.STOPPED: "Job was intentionally stopped.",
    JobStatus.SUCCEEDED: "Job finished successfully.",
    JobStatus.FAILED: "Job failed.",
}


@dataclass
class JobInfo:
    """A submitted job. Times are milliseconds since 1970."""

    status: JobStatus
    entrypoint: str
    message: str | None = None
    error_type: JobErrorType | None = None
    start_time: int | None = None
    end_time: int | None = None
    metadata: dict[str, str] | None = None
    runtime_env: dict[str, Any] | None = None
    entrypoint_num_cpus: float | None = None
    entrypoint_num_gpus: float | None = None
    entrypoint_memory: int | None = None
    entrypoint_resources: dict[str, float] | None = None
    driver_agent_http_address: str | None = None
    driver_node_id: str | None = None
    driver_exit_code: int | None = None

    def __post_init__(self) -> None:
        self.status = JobStatus(self.status)
        if self.message is None:
            self.message = _MESSAGES[self.status]
            if self.status == JobStatus.PENDING:
                self.message += self._waits_for()

    def _waits_for(self):
        asked = (
            self.entrypoint_num_cpus,
            self.entrypoint_num_gpus,
            self.entrypoint_memory,
            self.entrypoint_resources,
        )
        resources = " It may be waiting for resources (CPUs, GPUs, memory, custom resources) to become available."
        return (resources if any(asked) else "") + (
            " It may be waiting for the runtime environment to be set up." if self.runtime_env else ""
        )

    def to_json(self) -> dict[str, Any]:
        """A dict for JSON, in which `runtime_env_json` is the text of the runtime environment."""
        import json

        values = asdict(self)
        values["status"] = str(self.status)
        values["error_type"] = self.error_type and self.error_type.value
        env = values.pop("runtime_env")
        if env is not None:
            values["runtime_env_json"] = json.dumps(env)
        return values

    @classmethod
    def from_json(cls, json_dict: dict[str, Any]) -> "JobInfo":
        """The job of such a dict."""
        import json

        values = dict(json_dict)
        env = values.pop("runtime_env_json", None)
        if env is not None:
            values["runtime_env"] = json.loads(env)
        if values.get("error_type"):
            values["error_type"] = JobErrorType(values["error_type"])
        return cls(**values)


class _Model:
    """A dataclass with the methods of pydantic's models, which these classes are on Ray."""

    def model_dump(self) -> dict[str, Any]:
        """As a dict; `dict` is the same."""
        return asdict(self)  # pyright: ignore[reportArgumentType]

    dict = model_dump

    def model_dump_json(self, *, indent: int | None = None) -> str:
        """As JSON text; `json` is the same."""
        import json

        separators = (",", ":") if indent is None else None
        return json.dumps(self.model_dump(), indent=indent, separators=separators, ensure_ascii=False)

    json = model_dump_json


@dataclass(kw_only=True)
class DriverInfo(_Model):
    """The program that a job runs, once it has attached to the session."""

    id: str
    node_ip_address: str
    pid: str


@dataclass(kw_only=True)
class JobDetails(_Model):
    """A submitted job, or a driver that no job has started. Times are milliseconds since 1970."""

    type: JobType
    job_id: str | None = None
    submission_id: str | None = None
    driver_info: DriverInfo | None = None
    status: JobStatus
    entrypoint: str
    message: str | None = None
    error_type: str | None = None
    start_time: int | None = None
    end_time: int | None = None
    metadata: dict[str, str] | None = None
    runtime_env: dict[str, Any] | None = None
    driver_agent_http_address: str | None = None
    driver_node_id: str | None = None
    driver_exit_code: int | None = None

    def __post_init__(self) -> None:
        self.type, self.status = JobType(self.type), JobStatus(self.status)
        if isinstance(self.driver_info, dict):
            self.driver_info = DriverInfo(**self.driver_info)


# Not in the classes: `dataclass` writes their methods into the module of that name, which may not be imported yet.
for _type in (JobInfo, DriverInfo, JobDetails):
    _type.__module__ = "rayshim.job_submission"
