"""What there is to take from the stream of a generator."""

from reactor import _core

PENDING, CLOSING, CANCELLED, ITEM, END, FAILED = _core.StreamState


def missing(link, completion):
    """The refs of which one must be done before the value at `link` can be taken; empty if it can be now."""
    state = _core.item_state(link, completion)
    if state == PENDING:
        return [link, completion]
    return [completion] if state in (CLOSING, CANCELLED) else []
