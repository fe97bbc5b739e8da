"""`ray.client`, which connects to a cluster. It is refused here."""


def client(address=None, _deprecation_warn_enabled=True):
    """Raises ConnectionError: there is no cluster to connect to."""
    from rayshim.api.arguments import check_address

    check_address(address or "auto")


class ClientContext:
    """For annotations: what a connection would give."""


class ClientBuilder:
    """What `client` gives in Ray; making one raises ConnectionError."""

    def __init__(self, address):
        client(address)
