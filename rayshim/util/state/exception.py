class RayStateApiException(Exception):
    """The session does not have the requested information about its state."""
