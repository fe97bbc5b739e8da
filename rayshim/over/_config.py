"""`ray._config`: what libraries of Ray read of the settings of its core. As on Ray, RAY_<name> in the environment changes a setting."""

import os


def _setting(name, default):
    return lambda: int(os.environ.get(f"RAY_{name}") or default)


grpc_client_keepalive_time_ms = _setting("grpc_client_keepalive_time_ms", 300000)
grpc_client_keepalive_timeout_ms = _setting("grpc_client_keepalive_timeout_ms", 120000)
max_grpc_message_size = _setting("max_grpc_message_size", 512 << 20)
metrics_report_interval_ms = _setting("metrics_report_interval_ms", 10000)
