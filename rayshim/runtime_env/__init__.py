"""`ray.runtime_env`."""

from rayshim.calls.runtime_env_config import RuntimeEnvConfig
from rayshim.calls.runtime_env_object import RuntimeEnv

__all__ = ["RuntimeEnv", "RuntimeEnvConfig"]
