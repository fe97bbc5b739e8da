"""`ray.util.debugpy`: a breakpoint that a debugger with the debug adapter protocol connects to. rayshim's breakpoints are those of `ray.util.pdb`."""

from rayshim.util import rpdb


def set_trace(breakpoint_uuid: str | None = None) -> None:
    """Stops here until somebody connects; see `ray.util.pdb.set_trace`."""
    rpdb.set_trace()
