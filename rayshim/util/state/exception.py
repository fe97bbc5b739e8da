"""`ray.util.state.exception`."""


class DataSourceUnavailable(Exception):
    """A part of the session does not answer."""


class RayStateApiException(Exception):
    """The session does not have the requested information about its state, or the request is wrong."""


class ServerUnavailable(RayStateApiException):
    """The session cannot be reached."""
