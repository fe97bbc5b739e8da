"""Ray Client, which connects to a cluster elsewhere: refused."""


def client(address=None, _deprecation_warn_enabled=True):
    """Raises ConnectionError: there is no cluster to connect to."""
    from rayshim.api.arguments import check_address

    check_address(address or "auto")
