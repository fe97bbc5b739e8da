"""The exit status of a program that repeats a journal: 3 if its values were others than the journal's, and it would have ended with 0."""

import atexit
import os
import sys

from rayshim.session import session

STATUS = 3
succeeds = True  # whether the program has ended by itself, with status 0


def watch():
    """Called before the program begins. Exit functions run in the reverse order: those of the program, the end of its session, then this one's."""
    atexit.unregister(session.end_at_exit)
    atexit.register(_end)
    atexit.register(session.end_at_exit)


def _end():
    checking = sys.modules.get("rayshim.journal.checking")
    if checking is None or not checking.found or not succeeds:
        return
    if "logging" in sys.modules:
        sys.modules["logging"].shutdown()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(STATUS)
