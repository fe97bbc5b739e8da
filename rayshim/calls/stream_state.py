"""The state of a generator's stream: whether its next value can be taken."""

from reactor import _core

PENDING, CLOSING, CANCELLED, ITEM, END, FAILED = _core.StreamState


def missing(link, completion):
    """The refs of which one must be done before the value at `link` can be taken; empty if it can be now, as far as the caller may know in timed order."""
    if _core.timed_here():
        return [] if _core.timed_wait_any([link], 0) else [link]
    state = _core.item_state(link, completion)
    if state == PENDING:
        return [link, completion]
    return [completion] if state in (CLOSING, CANCELLED) else []
