"""Answers of the clock, such as a timeout or `kill`: what they were, and where the program asked."""

import sys

from reactor import _core

from rayshim.errors.user_code import is_users
from rayshim.session import session

TOPIC = "physical"


def count(what, frame=None):
    """Counts an answer. Arguments: what, for the report; frame, of the program's code or above it, default: the caller."""
    _core.count_physical()
    s = session.current
    frame = frame or sys._getframe(1)
    while frame.f_back is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    key = what, frame.f_code.co_filename, frame.f_lineno
    n = s.physical[key] = s.physical.get(key, 0) + 1
    if s.driver is None and n & (n - 1) == 0:  # the others know of the first, and later at least the half
        s.placement.post((TOPIC, _core.slot(), what, _place(key)), n)


def counted():
    """{(what, place): how often} in the whole session; for places in other processes than this one at least the half of it."""
    s = session.current
    found = {}
    posted = s.placement.posted(TOPIC, timeout=5) if _core.counters()["physical_answers"] else {}
    for (_, slot, what, place), n in posted.items():
        if slot != _core.slot():
            found[what, place] = found.get((what, place), 0) + n
    for key, n in s.physical.items():
        what, place = key[0], _place(key)
        found[what, place] = found.get((what, place), 0) + n
    return found


def _place(key):
    return f"{key[1]}:{key[2]}"
