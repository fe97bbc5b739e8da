"""`ray._private.runtime_env.constants`: names of environment variables."""

RAY_JOB_CONFIG_JSON_ENV_VAR = "RAY_JOB_CONFIG_JSON_ENV_VAR"

# Programs name the classes of plugins in it; each has a priority from 0 to 100.
RAY_RUNTIME_ENV_PLUGINS_ENV_VAR = "RAY_RUNTIME_ENV_PLUGINS"
RAY_RUNTIME_ENV_PLUGIN_DEFAULT_PRIORITY = 10
RAY_RUNTIME_ENV_PLUGIN_MIN_PRIORITY = 0
RAY_RUNTIME_ENV_PLUGIN_MAX_PRIORITY = 100
