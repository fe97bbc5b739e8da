"""The caller's side of `cancel`. The worker's side is rayshim.worker.interrupts."""

import sys

from reactor import _core

from rayshim.errors import forked
from rayshim.errors.user_code import at
from rayshim.session import physical, session

_CHILDREN_AND_PROCESS = 2  # of `_core.cancel`


def cancel_ref(ref, force, recursive):
    """See `rayshim.cancel`."""
    s = session.ensure()
    if ref.stale:
        raise TypeError(
            f"No owner found for object. ({at('cancel')}: the ref belongs to {forked.owner('a session that was shut down')}, or was created from an id alone) "
            f"{forked.remedy('')}".rstrip()
        )
    physical.count("cancel()")
    of_actor = ref.kind == _core.METHOD_RESULT
    if of_actor and force:
        raise ValueError(
            f"force=True is not supported for actor tasks. ({at('cancel')}: leave it out, or use ray.kill)"
        )

    def end():
        outcome, slot = _core.cancel(ref, _CHILDREN_AND_PROCESS if recursive and force else int(recursive))
        # An actor's process looks which of its calls is meant, and cancels what that has called.
        if outcome == _core.Cancelled.RUNNING and (recursive or not of_actor) and slot >= 0:
            if force:
                s.placement.end_task(slot, _core.uid_of_call(ref), recursive)
            else:
                s.placement.interrupt(slot)

    if s.settings.journal:
        from rayshim.journal import journal

        journal.cancel(ref, end, sys._getframe(2))
    else:
        end()
