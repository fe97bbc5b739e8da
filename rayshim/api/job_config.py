"""`JobConfig` and `LoggingConfig`, which are arguments of `init`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from rayshim.environments.checking import checked
from rayshim.errors.logs import FORMAT
from rayshim.errors.user_code import at
from rayshim.session import session
from rayshim.worker.context import runtime_context


@dataclass
class LoggingConfig:
    """Settings for the logs of the program and its workers.

    Arguments:
        encoding: "TEXT" or "JSON".
        log_level: name of a level of `logging`, such as "INFO".
        additional_log_standard_attrs: names of further attributes of a log record that each line shows.

    Raises ValueError for another encoding and for an attribute that log records do not have.
    """

    __module__ = "rayshim.job_config"

    encoding: str = "TEXT"
    log_level: str = "INFO"
    additional_log_standard_attrs: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.encoding not in ("TEXT", "JSON"):
            raise ValueError(
                f"Invalid encoding type: {self.encoding}. Valid encoding types are: ['TEXT', 'JSON'] ({at('LoggingConfig')})"
            )
        for name in self.additional_log_standard_attrs:
            if name not in _STANDARD:
                raise ValueError(
                    f"Unknown python logging standard attribute: {name}. The valid attributes are: {_STANDARD} ({at('LoggingConfig')})"
                )

    def check(self) -> None:
        """Called by `init`. Raises ValueError or TypeError if `logging` does not know the level."""
        import logging

        try:
            logging.Handler().setLevel(self.log_level)
        except (ValueError, TypeError) as error:
            raise type(error)(
                f"{error} ({at('init')}: log_level of its LoggingConfig; give a name such as 'INFO', in capitals, or a number)"
            ) from None

    def to_dict(self) -> dict[str, Any]:
        """The configuration as a dict of values that JSON has."""
        return asdict(self)

    @classmethod
    def from_dict(cls, d: dict[str, Any]) -> LoggingConfig:
        """The configuration from such a dict; unknown keys are ignored."""
        return cls(**{field.name: d[field.name] for field in fields(cls) if field.name in d})

    def apply(self) -> None:
        """Configures the root logger and the logger "ray" of this process. Each worker calls it when it starts."""
        import logging
        import sys

        handler = logging.StreamHandler(sys.stderr)
        handler.setLevel(self.log_level)
        handler.setFormatter(_Formatter(self.encoding, self.additional_log_standard_attrs))  # pyright: ignore[reportArgumentType]
        handler.addFilter(_add_context)
        root, ray = logging.getLogger(), logging.getLogger("ray")
        if _applied:
            root.removeHandler(_applied.pop())
        _applied.append(handler)
        ray.handlers.clear()
        ray.propagate = False
        for logger in (root, ray):
            logger.addHandler(handler)
            logger.setLevel(self.log_level)


_applied = []  # the root logger's handler of the last configuration
_STANDARD = [
    "args",
    "asctime",
    "created",
    "exc_info",
    "exc_text",
    "filename",
    "funcName",
    "levelname",
    "levelno",
    "lineno",
    "message",
    "module",
    "msecs",
    "msg",
    "name",
    "pathname",
    "process",
    "processName",
    "relativeCreated",
    "stack_info",
    "taskName",
    "thread",
    "threadName",
]


def _add_context(record):
    """A logging filter that keeps every record and adds the ids and names of the process and the running call, under the names of Ray's CoreContextFilter."""
    if session.current is None:
        return True
    known = {
        "job_id": runtime_context.get_job_id(),
        "worker_id": runtime_context.get_worker_id(),
        "node_id": runtime_context.get_node_id(),
    }
    if session.current.driver is None or runtime_context._task_id():
        known.update(
            actor_id=runtime_context.get_actor_id(),  # pyright: ignore[reportArgumentType]
            task_id=runtime_context.get_task_id(),  # pyright: ignore[reportArgumentType]
            task_name=runtime_context.get_task_name(),  # pyright: ignore[reportArgumentType]
            task_func_name=runtime_context.get_task_function_name(),  # pyright: ignore[reportArgumentType]
            actor_name=runtime_context.get_actor_name(),  # pyright: ignore[reportArgumentType]
        )
    for name, value in known.items():
        if value:
            setattr(record, name, value)
    return True


class _Formatter:
    """A logging formatter for the encodings of LoggingConfig: a line of text or a JSON object, with the requested standard attributes and all
    others of the record, including those of `extra=`. Source: ray._common.formatters."""

    def __init__(self, encoding, attributes):
        self._encoding, self._attributes = encoding, attributes

    def format(self, record):
        import json
        import logging
        import time

        added = {name: getattr(record, name, None) for name in self._attributes}
        added.update((name, value) for name, value in vars(record).items() if name not in _STANDARD)
        added["timestamp_ns"] = time.time_ns()
        if self._encoding == "TEXT":
            plain = logging.Formatter(FORMAT)
            return " ".join([plain.format(record), *(f"{name}={value}" for name, value in added.items())])
        plain = logging.Formatter()
        fields = {
            "asctime": plain.formatTime(record),
            "levelname": record.levelname,
            "message": record.getMessage(),
            "filename": record.filename,
            "lineno": record.lineno,
            "process": record.process,
        }
        if record.exc_info:
            fields["exc_text"] = record.exc_text or plain.formatException(record.exc_info)
        return json.dumps({**fields, **added})


class JobConfig:
    """Settings for `init(job_config=)`: runtime environment, namespace and metadata of the program. Other arguments are accepted and have no
    meaning on one machine."""

    __module__ = "rayshim.job_config"

    def __init__(
        self,
        jvm_options: list[str] | None = None,
        code_search_path: list[str] | None = None,
        runtime_env: dict[str, Any] | None = None,
        _client_job: bool = False,
        metadata: dict[str, str] | None = None,
        ray_namespace: str | None = None,
        default_actor_lifetime: str = "non_detached",
        _py_driver_sys_path: list[str] | None = None,
    ) -> None:
        if not isinstance(code_search_path or [], (list, tuple)):
            raise TypeError(
                f"The type of code search path is incorrect: {type(code_search_path)} ({at('JobConfig')}: give a list of directories)"
            )
        self.set_default_actor_lifetime(default_actor_lifetime)
        self.jvm_options: list[str] = jvm_options or []
        self.code_search_path: list[str] = code_search_path or []
        self.runtime_env: dict[str, Any] = runtime_env or {}
        self.metadata: dict[str, str] = metadata or {}
        self.ray_namespace = ray_namespace
        self.py_logging_config: LoggingConfig | None = None

    def set_metadata(self, key: str, value: str) -> None:
        self.metadata[key] = value

    def set_default_actor_lifetime(self, default_actor_lifetime: str) -> None:
        """Sets the lifetime of actors without the option `lifetime`: "detached" or "non_detached". Raises ValueError for anything else."""
        if default_actor_lifetime not in ("detached", "non_detached"):
            raise ValueError(
                f"Default actor lifetime must be one of `detached`, `non_detached`, not {default_actor_lifetime!r} ({at('JobConfig')})"
            )
        self.default_actor_lifetime = default_actor_lifetime

    def set_runtime_env(self, runtime_env: dict[str, Any] | None, validate: bool = False) -> None:
        """The program's runtime environment; with `validate` ValueError and TypeError for a wrong one."""
        if validate and runtime_env:
            checked(runtime_env, "JobConfig", in_use=False)
        self.runtime_env = runtime_env or {}

    def set_ray_namespace(self, ray_namespace: str) -> None:
        self.ray_namespace = ray_namespace

    def set_py_logging_config(self, logging_config: LoggingConfig | None = None) -> None:
        self.py_logging_config = logging_config

    def ensure_logging_config(self, logging_config: LoggingConfig | dict[str, Any] | None = None) -> None:
        """Sets it, a LoggingConfig or its dict, if there is none yet. TypeError for anything else."""
        if logging_config is None or self.py_logging_config is not None:
            return
        if isinstance(logging_config, dict):
            logging_config = LoggingConfig.from_dict(logging_config)
        if not isinstance(logging_config, LoggingConfig):
            raise TypeError(
                f"logging_config must be a dict or LoggingConfig, got {type(logging_config)} ({at('ensure_logging_config')})"
            )
        self.set_py_logging_config(logging_config)

    @classmethod
    def from_json(cls, job_config_json: dict[str, Any]) -> JobConfig:
        """The JobConfig of a dict with `runtime_env`, `metadata`, `jvm_options`, `code_search_path`."""
        return cls(
            jvm_options=job_config_json.get("jvm_options"),
            code_search_path=job_config_json.get("code_search_path"),
            runtime_env=job_config_json.get("runtime_env"),
            metadata=job_config_json.get("metadata"),
            ray_namespace=job_config_json.get("ray_namespace"),
            _client_job=job_config_json.get("client_job", False),
        )
