"""The pause before a call that has failed is run again."""

from rayshim.session import session


def delay():
    """Seconds between the failure of a call and its next run."""
    return session.current.settings.retry_delay
