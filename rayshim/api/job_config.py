"""`JobConfig` and `LoggingConfig`: what `init` may be given as objects."""

from dataclasses import dataclass, field

from rayshim.errors.sites import at
from rayshim.session import session


@dataclass
class LoggingConfig:
    """How the program and its workers log: `encoding` "TEXT" or "JSON", `log_level` a name, further standard attributes of a
    log record to be in each line. ValueError for another encoding
    and for an attribute that log records do not have."""

    __module__ = "rayshim.job_config"

    encoding: str = "TEXT"
    log_level: str = "INFO"
    additional_log_standard_attrs: list = field(default_factory=list)

    def __post_init__(self):
        if self.encoding not in ("TEXT", "JSON"):
            raise ValueError(f"Invalid encoding type: {self.encoding}. Valid encoding types are: ['TEXT', 'JSON'] ({at('LoggingConfig')})")
        for name in self.additional_log_standard_attrs:
            if name not in _STANDARD:
                raise ValueError(f"Unknown python logging standard attribute: {name}. The valid attributes are: {_STANDARD} ({at('LoggingConfig')})")

    def check(self):
        """In `init`: ValueError for a level that `logging` does not know, TypeError for what is none."""
        import logging

        try:
            logging.Handler().setLevel(self.log_level)
        except (ValueError, TypeError) as error:
            raise type(error)(f"{error} ({at('init')}: log_level of its LoggingConfig; give a name such as 'INFO', in capitals, or a number)") from None

    def apply(self):
        """Configures this process's root logger, which every worker does at its birth."""
        import logging
        import sys

        handler = logging.StreamHandler(sys.stderr)
        if self.encoding == "JSON":
            handler.setFormatter(_Json(self.additional_log_standard_attrs))
        else:
            extra = "".join(f" {name}=%({name})s" for name in self.additional_log_standard_attrs)
            handler.setFormatter(logging.Formatter(f"%(asctime)s\t%(levelname)s %(filename)s:%(lineno)s -- %(message)s{extra}"))
        root = logging.getLogger()
        if _applied:
            root.removeHandler(_applied.pop())
        _applied.append(handler)
        root.addHandler(handler)
        root.setLevel(self.log_level)


_applied = []  # the root logger's handler of the last configuration
_STANDARD = ["args", "asctime", "created", "exc_info", "exc_text", "filename", "funcName", "levelname", "levelno", "lineno", "message", "module", "msecs", "msg", "name",
             "pathname", "process", "processName", "relativeCreated", "stack_info", "taskName", "thread", "threadName"]


class _Json:
    """A logging formatter: one JSON object to a line."""

    def __init__(self, attributes):
        self.attributes = attributes

    def format(self, record):
        import json
        import logging
        import time

        from rayshim.worker.context import RuntimeContext

        plain = logging.Formatter()
        made = {
            "asctime": plain.formatTime(record),
            "levelname": record.levelname,
            "message": record.getMessage(),
            "filename": record.filename,
            "lineno": record.lineno,
            "process": record.process,
            **{name: getattr(record, name, None) for name in self.attributes},
        }
        if record.exc_info:
            made["exc_text"] = plain.formatException(record.exc_info)
        if session.current is not None:
            context = RuntimeContext()
            known = {"job_id": context.get_job_id(), "worker_id": context.get_worker_id(), "node_id": context.get_node_id(),
                     "actor_id": context.get_actor_id(), "task_id": context.get_task_id()}
            made.update({name: value for name, value in known.items() if value})
        made["timestamp_ns"] = time.time_ns()
        return json.dumps(made)


class JobConfig:
    """What `init(job_config=)` takes: the program's runtime environment, namespace and metadata. The rest is accepted and has no
    meaning on one machine."""

    __module__ = "rayshim.job_config"

    def __init__(self, jvm_options=None, code_search_path=None, runtime_env=None, _client_job=False, metadata=None,
                 ray_namespace=None, default_actor_lifetime="non_detached", _py_driver_sys_path=None):
        if default_actor_lifetime not in ("detached", "non_detached"):
            raise ValueError(f"Default actor lifetime must be one of `detached`, `non_detached`, not {default_actor_lifetime!r} ({at('JobConfig')})")
        self.jvm_options = jvm_options or []
        self.code_search_path = code_search_path or []
        self.runtime_env = runtime_env or {}
        self.metadata = metadata or {}
        self.ray_namespace = ray_namespace
        self.default_actor_lifetime = default_actor_lifetime
        self.py_logging_config = None

    def set_metadata(self, key, value):
        self.metadata[key] = value

    def set_runtime_env(self, runtime_env, validate=False):
        self.runtime_env = runtime_env or {}

    def set_ray_namespace(self, ray_namespace):
        self.ray_namespace = ray_namespace

    def set_py_logging_config(self, logging_config=None):
        self.py_logging_config = logging_config
