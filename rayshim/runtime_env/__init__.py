"""`ray.runtime_env`."""

from rayshim.environments.config import RuntimeEnvConfig
from rayshim.environments.runtime_env import RuntimeEnv

__all__ = ["RuntimeEnv", "RuntimeEnvConfig"]
