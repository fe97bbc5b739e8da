"""`RuntimeEnvConfig`: how a runtime environment is made."""

from __future__ import annotations

from typing import Any, ClassVar

from rayshim.errors.user_code import calling


class RuntimeEnvConfig(dict[str, Any]):
    """Ray's settings of how an environment is made; nothing here needs them. TypeError and ValueError for wrong ones."""

    __module__ = "rayshim.runtime_env"
    known_fields: ClassVar[set[str]] = {"setup_timeout_seconds", "eager_install", "log_files"}  # Ray's

    def __init__(
        self, setup_timeout_seconds: int = 600, eager_install: bool = True, log_files: list[str] | None = None
    ) -> None:
        if not isinstance(setup_timeout_seconds, int):
            raise TypeError(
                f"setup_timeout_seconds must be of type int, got: {type(setup_timeout_seconds)} (at {calling()})"
            )
        if setup_timeout_seconds <= 0 and setup_timeout_seconds != -1:
            raise ValueError(
                f"setup_timeout_seconds must be greater than zero or equals to -1, got: {setup_timeout_seconds} (at {calling()})"
            )
        if not isinstance(eager_install, bool):
            raise TypeError(f"eager_install must be a boolean. got {type(eager_install)} (at {calling()})")
        if not isinstance(log_files, (list, type(None))):
            raise TypeError(
                f"log_files must be a list of strings or None, got {log_files} with type {type(log_files)}. (at {calling()})"
            )
        if not all(isinstance(name, str) for name in log_files or ()):
            raise TypeError(f"Each item in log_files must be a string. (at {calling()})")
        super().__init__(
            setup_timeout_seconds=setup_timeout_seconds, eager_install=eager_install, log_files=log_files or []
        )

    @staticmethod
    def parse_and_validate_runtime_env_config(config: dict[str, Any] | RuntimeEnvConfig) -> RuntimeEnvConfig:
        """The RuntimeEnvConfig of a dict, or the one that is given. TypeError for anything else."""
        if isinstance(config, RuntimeEnvConfig):
            return config
        if not isinstance(config, dict):
            raise TypeError(
                f"runtime_env['config'] must be of type dict or RuntimeEnvConfig, got: {type(config)} (at {calling()})"
            )
        return RuntimeEnvConfig(**{name: config[name] for name in config if name in RuntimeEnvConfig.known_fields})

    @classmethod
    def default_config(cls) -> RuntimeEnvConfig:
        """One with the defaults."""
        return cls()

    def to_dict(self) -> dict[str, Any]:
        return dict(self)
