"""SIGTERM in the driver ends the program as `sys.exit(15)` does, so that its `finally` blocks and exit functions run: Ray's rule."""

import signal
import sys
import threading

_before = None  # the handler that ours took the place of


def begin():
    """At `init`: as in Ray, whatever the program had set before; what it sets from now on holds. Only in the main thread."""
    global _before
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is not _exit:
        _before = signal.signal(signal.SIGTERM, _exit)


def end():
    """At `shutdown`: SIGTERM is what it was before `init`."""
    global _before
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is _exit:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if _before is None else _before)
        _before = None


def _exit(number, frame):
    sys.exit(number)
