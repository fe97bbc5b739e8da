"""The worker's side of `cancel`."""

import signal

from reactor import _core

from rayshim.session import session


def listen():
    """In a worker: sets a handler by which SIGINT interrupts the running call if that call was cancelled; otherwise SIGINT is ignored."""

    def interrupted(number, frame):
        if _core.cancel_wanted():
            for slot in _core.cancel_children():
                session.current.control.tell("signal", slot, int(signal.SIGINT))
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupted)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # the program may have blocked it in the driver
