"""The caller's side of `cancel`. The worker's side is rayshim.worker.interrupts."""

import signal
import sys

from reactor import _core

from rayshim.errors.sites import at
from rayshim.session import session

_METHOD_RESULT, _RUNNING = _core.METHOD_RESULT, 2


def cancel_ref(ref, force, recursive):
    """See `rayshim.cancel`."""
    s = session.ensure()
    _core.count_physical()
    of_actor = ref.kind == _METHOD_RESULT
    if of_actor and force:
        raise ValueError(
            f"force=True is not supported for actor tasks. ({at('cancel')}: leave it out, or use ray.kill)"
        )

    def end():
        if _core.cancel(ref, recursive) != _RUNNING or of_actor or s.inline:
            return
        slot = ref.runner
        if slot >= 0:
            s.control.tell("signal", slot, int(signal.SIGKILL if force else signal.SIGINT))

    if s.settings["kept"]:
        from rayshim.journal import rerun

        rerun.cancel(ref, end, sys._getframe(2))
    else:
        end()
