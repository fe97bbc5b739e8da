"""Arguments of Ray's `init` that are accepted and have no meaning on one machine without a dashboard."""

ACCEPTED = frozenset(
    """
    labels include_dashboard dashboard_host dashboard_port job_config configure_logging logging_level logging_format
    logging_config enable_resource_isolation cgroup_path system_reserved_cpu system_reserved_memory proxy_server_url
    allow_multiple storage
    """.split()
)
