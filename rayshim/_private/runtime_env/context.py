"""`ray._private.runtime_env.context`: the object that plugins of runtime environments change on Ray."""

from __future__ import annotations

import json
import sys


class RuntimeEnvContext:
    """How a worker is started: environment variables, interpreter, command."""

    def __init__(
        self,
        command_prefix: list[str] | None = None,
        env_vars: dict[str, str] | None = None,
        py_executable: str | None = None,
        override_worker_entrypoint: str | None = None,
        java_jars: list[str] | None = None,
    ) -> None:
        self.command_prefix: list[str] = command_prefix or []
        self.env_vars: dict[str, str] = env_vars or {}
        self.py_executable: str = py_executable or sys.executable
        self.override_worker_entrypoint = override_worker_entrypoint
        self.java_jars: list[str] = java_jars or []

    def serialize(self) -> str:
        """As JSON text."""
        return json.dumps(self.__dict__)

    @staticmethod
    def deserialize(json_string: str) -> RuntimeEnvContext:
        """The context of such a text."""
        return RuntimeEnvContext(**json.loads(json_string))
