"""As in Ray, SIGTERM ends the driver as `sys.exit(15)` does, so that `finally` blocks and exit functions run."""

import signal
import sys
import threading

_before = None  # the handler from before `init`


def begin():
    """At `init`, in the main thread: sets the handler of SIGTERM, as Ray does. It replaces a handler that the program has set before; the program
    may set its own again."""
    global _before
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is not _exit:
        _before = signal.signal(signal.SIGTERM, _exit)


def end():
    """At `shutdown`: restores the handler of SIGTERM from before `init`."""
    global _before
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is _exit:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if _before is None else _before)
        _before = None


def _exit(number, frame):
    sys.exit(number)
