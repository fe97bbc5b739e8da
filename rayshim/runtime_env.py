"""`ray.runtime_env`."""

from rayshim.calls.runtime_env_object import RuntimeEnv, RuntimeEnvConfig

__all__ = ["RuntimeEnv", "RuntimeEnvConfig"]
