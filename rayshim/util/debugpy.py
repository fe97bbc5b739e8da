"""`ray.util.debugpy`: breakpoints for debuggers with the debug adapter protocol. rayshim has only the breakpoints of `ray.util.pdb`."""

import sys

from rayshim.util import rpdb


def set_trace(breakpoint_uuid: str | None = None) -> None:
    """Stops here until somebody attaches; see `ray.util.pdb.set_trace`."""
    rpdb.start(sys._getframe(1))
