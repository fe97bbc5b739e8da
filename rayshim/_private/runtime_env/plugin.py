"""`ray._private.runtime_env.plugin`: the class of which programs make plugins of runtime environments.

Here the fields of plugins are unknown fields, which a warning names: no agent runs plugins.
"""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING, Any

from rayshim._private.runtime_env.constants import RAY_RUNTIME_ENV_PLUGIN_DEFAULT_PRIORITY

if TYPE_CHECKING:
    import logging

    from rayshim._private.runtime_env.context import RuntimeEnvContext
    from rayshim.runtime_env import RuntimeEnv


class RuntimeEnvPlugin(ABC):  # noqa: B024  Ray's, too, has no abstract method
    """A plugin: it has the name of the field that it serves."""

    name: str | None = None
    priority: int = RAY_RUNTIME_ENV_PLUGIN_DEFAULT_PRIORITY

    @staticmethod
    def validate(runtime_env_dict: dict[str, Any]) -> None:
        """Raises ValueError for a wrong field."""

    def get_uris(self, runtime_env: RuntimeEnv) -> list[str]:
        return []

    async def create(
        self, uri: str | None, runtime_env: RuntimeEnv, context: RuntimeEnvContext, logger: logging.Logger
    ) -> float:
        """Installs what the field asks for; returns how many bytes that takes."""
        return 0

    def modify_context(
        self, uris: list[str], runtime_env: RuntimeEnv, context: RuntimeEnvContext, logger: logging.Logger
    ) -> None:
        """Changes how workers are started."""

    def delete_uri(self, uri: str, logger: logging.Logger) -> float:
        """Deletes what was installed; returns how many bytes are free again."""
        return 0
