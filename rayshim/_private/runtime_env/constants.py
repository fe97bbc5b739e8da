"""`ray._private.runtime_env.constants`: names of environment variables."""

RAY_JOB_CONFIG_JSON_ENV_VAR = "RAY_JOB_CONFIG_JSON_ENV_VAR"
