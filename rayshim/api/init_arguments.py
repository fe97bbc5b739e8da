"""The arguments of `init`, as the steps of a start read them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rayshim.api.job_config import JobConfig, LoggingConfig
    from rayshim.environments.runtime_env import RuntimeEnv
    from rayshim.placement.packed import packed


class InitArguments(NamedTuple):
    """The arguments of one call of `init`, by their names; `accepted`: Ray's other arguments. No dataclass: its module would make `import rayshim` slower."""

    address: str | None
    num_cpus: float | None
    num_gpus: float | None
    resources: dict[str, float] | None
    object_store_memory: int | None
    object_spilling_directory: str | os.PathLike[str] | None
    namespace: str | None
    log_to_driver: bool | None
    ignore_reinit_error: bool
    local_mode: bool
    runtime_env: dict[str, Any] | RuntimeEnv | None
    labels: dict[str, str] | None
    job_config: JobConfig | None
    configure_logging: bool
    logging_level: int | str | None
    logging_format: str | None
    logging_config: LoggingConfig | None
    placement: str | os.PathLike[str] | packed | None
    ordering: str | None
    timing: str | os.PathLike[str] | None
    timing_seed: int | None
    clock: str | None
    patience: float | str | None
    digest: bool | str
    record: str | os.PathLike[str] | None
    replay: str | os.PathLike[str] | None
    seed: int | None
    learn_patterns: bool
    replay_plans: bool
    trace: bool
    accepted: dict[str, Any]

    @property
    def recording(self) -> bool:
        """Whether the core records the calls of the program."""
        off = any(os.environ.get(name) for name in ("RAYSHIM_NO_PATTERNS", "RAYSHIM_NO_PLANS"))
        return bool(self.learn_patterns and self.replay_plans) and not off

    @property
    def tracing(self) -> bool:
        """Whether the times of calls and waits are recorded."""
        return bool(self.trace) or bool(os.environ.get("RAYSHIM_TRACE"))

    @property
    def how(self) -> dict[str, Any]:
        """The arguments for the program's logger and the lines of its workers, as rayshim.api.beginning takes them."""
        return self.named(("configure_logging", "logging_level", "logging_format", "log_to_driver"))

    def named(self, names) -> dict[str, Any]:
        """{name: value} of these arguments."""
        return {name: getattr(self, name) for name in names}
