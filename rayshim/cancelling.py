"""Cancelling a call: the asking side and, in the worker, the listening one."""

import signal
import sys

from reactor import _core

from rayshim import session
from rayshim.sites import at

_METHOD_RESULT, _RUNNING = _core.METHOD_RESULT, 2


def cancel_ref(ref, force, recursive):
    """See `rayshim.cancel`."""
    s = session.ensure()
    _core.count_physical()
    of_actor = ref.kind == _METHOD_RESULT
    if of_actor and force:
        raise ValueError(f"force=True is not supported for actor tasks. ({at('cancel')}: leave it out, or use ray.kill)")

    def end():
        if _core.cancel(ref, recursive) != _RUNNING or of_actor or s.inline:
            return
        slot = ref.runner
        if slot >= 0:
            s.control.tell("signal", slot, int(signal.SIGKILL if force else signal.SIGINT))

    if s.settings["kept"]:
        from rayshim import rerun

        rerun.cancel(ref, end, sys._getframe(2))
    else:
        end()


def listen():
    """In a worker: SIGINT interrupts the running call if it is the one to be cancelled, and is ignored otherwise."""

    def interrupted(number, frame):
        if _core.cancel_wanted():
            for slot in _core.cancel_children():
                session.current.control.tell("signal", slot, int(signal.SIGINT))
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupted)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # the program may have blocked it for itself
