"""`ray.runtime_env.runtime_env`: where Ray defines the names of `ray.runtime_env`."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from rayshim.environments.config import RuntimeEnvConfig
from rayshim.environments.runtime_env import RuntimeEnv

__all__ = ["RuntimeEnv", "RuntimeEnvConfig"]


def _merge_runtime_env(
    parent: dict[str, Any] | None, child: dict[str, Any] | None, override: bool = False
) -> dict[str, Any] | None:
    """Both environments as one; `env_vars` are joined. What both have comes from `child` with `override`; without, the result is None."""
    merged, more = deepcopy(parent or {}), deepcopy(child or {})
    variables, more_variables = merged.pop("env_vars", {}), more.pop("env_vars", {})
    if not override and (merged.keys() & more.keys() or variables.keys() & more_variables.keys()):
        return None
    merged.update(more)
    variables.update(more_variables)
    if variables:
        merged["env_vars"] = variables
    return merged
