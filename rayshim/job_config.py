"""`ray.job_config`."""

from rayshim.api.job_config import JobConfig, LoggingConfig

__all__ = ["JobConfig", "LoggingConfig"]
