"""Failed calls whose result nobody asked for: the driver's user is told, as by Ray."""

import os

from rayshim.errors.exceptions import RayTaskError, UnserializableException, WorkerCrashedError
from rayshim.errors.logs import logger
from rayshim.session import session

_LONGEST = 100_000  # characters of a text that a worker sends; the socket takes no larger messages


def lost(error):
    """Nobody has seen this failure of a call, and the last ref to its result is gone. Of the same ones as in Ray the user is told."""
    text = told(error)
    s = session.current
    if text is None or s is None:
        return
    if s.driver is not None:
        report(text)
    else:
        s.control.tell("lost", text)


def told(error):
    """What the user is told of `error`; None: nothing, as of cancelled calls and of those of dead actors."""
    return (
        str(error)[:_LONGEST]
        if isinstance(error, (RayTaskError, UnserializableException, WorkerCrashedError))
        else None
    )


def report(text):
    """In the driver."""
    if "RAY_IGNORE_UNHANDLED_ERRORS" not in os.environ:
        logger.error("Unhandled error (suppress with 'RAY_IGNORE_UNHANDLED_ERRORS=1'): %s", text)
