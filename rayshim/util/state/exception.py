class RayStateApiException(Exception):
    """What was asked about the session's state cannot be told."""
