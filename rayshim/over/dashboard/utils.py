"""`ray.dashboard.utils`."""

from rayshim.jobs.client import server_address


def get_address_for_submission_client(address=None):
    """The URL (str) of the server of jobs: of the session at `address` ("auto" or None: the one that was started last). RAY_API_SERVER_ADDRESS
    and RAY_ADDRESS go before it. Raises ConnectionError where no session runs, or it has no such server."""
    return server_address(address)
