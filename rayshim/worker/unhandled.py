"""Reports failed calls whose result nobody asked for on the driver's stderr, as Ray does."""

import os

from rayshim.errors.exceptions import RayTaskError, TaskCancelledError, UnserializableException, WorkerCrashedError
from rayshim.errors.logs import logger
from rayshim.session import session

_LONGEST = 100_000  # most characters of a report from a worker; the socket takes no larger messages


def lost(error):
    """Reports this failure of a call. The last ref to its result is gone, and nobody has asked for it."""
    text = report_text(error)
    s = session.current
    if text is None or s is None:
        return
    if s.driver is not None:
        report(text)
    else:
        s.control.tell("lost", text)


def report_text(error):
    """The text that reports `error`; None if it is not reported, as for cancelled calls and calls of dead actors."""
    if isinstance(error, RayTaskError) and isinstance(error.cause, TaskCancelledError):
        return None
    return (
        str(error)[:_LONGEST]
        if isinstance(error, (RayTaskError, UnserializableException, WorkerCrashedError))
        else None
    )


def report(text):
    """In the driver: logs the report."""
    if "RAY_IGNORE_UNHANDLED_ERRORS" not in os.environ:
        logger.error("Unhandled error (suppress with 'RAY_IGNORE_UNHANDLED_ERRORS=1'): %s", text)
