"""The table of keys and values that all processes of the session share: Ray's internal key-value store."""

import itertools
import os

from rayshim.session import session

_PART = 64 << 10  # bytes of a value in one control message
_numbers = itertools.count()


def ask(what, namespace, key, *more):
    """One operation of reactor.runtime.supervisor.key_values.KeyValues."""
    return session.current.placement.key_value(what, namespace, key, *more)


def put(namespace, key, value, overwrite):
    """Whether there was a value before; then it is replaced if `overwrite`."""
    placement = session.current.placement
    name = (os.getpid(), next(_numbers))
    last = max(0, (len(value) - 1) // _PART * _PART)
    for at in range(0, last, _PART):
        placement.key_value_part(name, value[at : at + _PART])
    return placement.key_value("put", namespace, key, value[last:], name, overwrite)
