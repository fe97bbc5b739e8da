"""Cancelling a call: the asking side and, in the worker, the listening one."""

import signal

from reactor import _core

from rayshim import session


def cancel_ref(ref, force, recursive):
    """See `rayshim.cancel`."""
    s = session.ensure()
    outcome = _core.cancel(ref)
    if outcome != 2 or s.inline:
        return
    slot = ref.runner
    actor = slot >= 0 and _core.proc_info(slot)["kind"] == 2
    if actor:
        if force:
            raise ValueError("force=True is not supported for actor tasks.")
        return
    if slot >= 0:
        s.control.tell("signal", slot, int(signal.SIGKILL if force else signal.SIGINT))


def listen():
    """In a worker: SIGINT interrupts the running call if it is the one to be cancelled, and is ignored otherwise."""

    def interrupted(number, frame):
        if _core.cancel_wanted():
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupted)
