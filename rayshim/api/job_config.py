"""`JobConfig` and `LoggingConfig`: what `init` may be given as objects."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from rayshim.errors.sites import at
from rayshim.session import session
from rayshim.worker.context import RuntimeContext


@dataclass
class LoggingConfig:
    """How the program and its workers log: `encoding` "TEXT" or "JSON", `log_level` a name, further standard attributes of a
    log record to be in each line. ValueError for another encoding
    and for an attribute that log records do not have."""

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
        """In `init`: ValueError for a level that `logging` does not know, TypeError for what is none."""
        import logging

        try:
            logging.Handler().setLevel(self.log_level)
        except (ValueError, TypeError) as error:
            raise type(error)(
                f"{error} ({at('init')}: log_level of its LoggingConfig; give a name such as 'INFO', in capitals, or a number)"
            ) from None

    def to_dict(self) -> dict[str, Any]:
        """The configuration as a dict that JSON can carry."""
        return asdict(self)

    @classmethod
    def from_dict(cls, d: dict[str, Any]) -> LoggingConfig:
        """The configuration of such a dict; keys that are none of its fields are left out."""
        return cls(**{field.name: d[field.name] for field in fields(cls) if field.name in d})

    def apply(self) -> None:
        """Configures this process's root logger and the one named "ray", which every worker does at its birth."""
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
    """A logging filter that keeps each record, and gives it what is known of the process and the call, under the names of Ray's CoreContextFilter."""
    if session.current is None:
        return True
    context = RuntimeContext()
    known = {"job_id": context.get_job_id(), "worker_id": context.get_worker_id(), "node_id": context.get_node_id()}
    if session.current.driver is None or context.get_task_id():
        known.update(
            actor_id=context.get_actor_id(),  # pyright: ignore[reportArgumentType]
            task_id=context.get_task_id(),  # pyright: ignore[reportArgumentType]
            task_name=context.get_task_name(),  # pyright: ignore[reportArgumentType]
            task_func_name=context.get_task_function_name(),  # pyright: ignore[reportArgumentType]
            actor_name=context.get_actor_name(),  # pyright: ignore[reportArgumentType]
        )
    for name, value in known.items():
        if value:
            setattr(record, name, value)
    return True


class _Formatter:
    """A logging formatter of LoggingConfig's encodings: a line of text or a JSON object, with the standard attributes that were asked for and all
    others that the record has, among them those of `extra=`. Source: ray._common.formatters."""

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
            plain = logging.Formatter("%(asctime)s\t%(levelname)s %(filename)s:%(lineno)s -- %(message)s")
            return " ".join([plain.format(record), *(f"{name}={value}" for name, value in added.items())])
        plain = logging.Formatter()
        made = {
            "asctime": plain.formatTime(record),
            "levelname": record.levelname,
            "message": record.getMessage(),
            "filename": record.filename,
            "lineno": record.lineno,
            "process": record.process,
        }
        if record.exc_info:
            made["exc_text"] = record.exc_text or plain.formatException(record.exc_info)
        return json.dumps({**made, **added})


class JobConfig:
    """What `init(job_config=)` takes: the program's runtime environment, namespace and metadata. The rest is accepted and has no
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
        if default_actor_lifetime not in ("detached", "non_detached"):
            raise ValueError(
                f"Default actor lifetime must be one of `detached`, `non_detached`, not {default_actor_lifetime!r} ({at('JobConfig')})"
            )
        self.jvm_options = jvm_options or []
        self.code_search_path = code_search_path or []
        self.runtime_env = runtime_env or {}
        self.metadata = metadata or {}
        self.ray_namespace = ray_namespace
        self.default_actor_lifetime = default_actor_lifetime
        self.py_logging_config = None

    def set_metadata(self, key: str, value: str) -> None:
        self.metadata[key] = value

    def set_runtime_env(self, runtime_env: dict[str, Any] | None, validate: bool = False) -> None:
        self.runtime_env = runtime_env or {}

    def set_ray_namespace(self, ray_namespace: str) -> None:
        self.ray_namespace = ray_namespace

    def set_py_logging_config(self, logging_config: LoggingConfig | None = None) -> None:
        self.py_logging_config = logging_config
