"""Rarely used names of `ray` itself."""

from __future__ import annotations

from importlib import import_module
from typing import Any

#: The functions that start a session if none runs, and the other public names.
AUTO_INIT_APIS = {"cancel", "get", "get_actor", "get_gpu_ids", "get_runtime_context", "kill", "put", "wait"}
NON_AUTO_INIT_APIS = {
    "ClientBuilder",
    "Language",
    "LoggingConfig",
    "SCRIPT_MODE",
    "WORKER_MODE",
    "__version__",
    "_config",
    "autoscaler",
    "available_resources",
    "client",
    "cluster_resources",
    "cpp_function",
    "init",
    "is_initialized",
    "java_actor_class",
    "java_function",
    "method",
    "nodes",
    "remote",
    "shutdown",
    "timeline",
}


class _Former:
    """`ray.state` and its like: a module of `ray._private` under its former name. The first use of each of its names gives a warning."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._warned: set[str] = set()

    def __getattr__(self, attr: str) -> Any:
        value = getattr(import_module(f"{__package__}.{self._name}"), attr)
        if attr not in self._warned:
            self._warned.add(attr)
            from rayshim.errors.logs import logger

            logger.warning(
                f"DeprecationWarning: `ray.{self._name}.{attr}` is a private attribute and access will be removed in a future Ray version."
            )
        return value


ray_constants: Any = _Former("ray_constants")
serialization: Any = _Former("serialization")
state: Any = _Former("state")
worker: Any = _Former("worker")
