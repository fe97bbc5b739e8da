"""Report, graph and timeline, made from the core's recording."""
