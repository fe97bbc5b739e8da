"""Large values between processes.

The process that sends a large value stores it once, and sends a ref. The process of the program passes the ref on without reading the value. All readers
read the same memory. If the sender has no other reference to an array, the array is not copied: its memory becomes the stored value.
"""

from __future__ import annotations

import copy
import sys
from collections import deque
from typing import TYPE_CHECKING, Any

from reactor import _core

if TYPE_CHECKING:
    from collections.abc import Callable

_LARGE = 1 << 16  # bytes; to copy fewer takes no longer than to store them and send a ref
_MOST_PARTS = 512  # that are looked at in a value
_PLAIN = frozenset({type(None), bool, int, float, complex})
_LINES = frozenset({str, bytes, bytearray})
_ROWS = frozenset({tuple, list, set, frozenset, deque})


class Stored:
    """A stored value, in the process of the program: in ports and events in place of the value."""

    __slots__ = "_copied", "_read", "ref"

    def __init__(self, ref: _core.Ref, copied: bool = False) -> None:
        self.ref = ref
        self._copied = copied
        self._read: list[Any] = []

    def value(self) -> Any:
        """The value itself, the same object each time."""
        if not self._read:
            value = _core.get_one(self.ref, None)
            self._read.append(copy.deepcopy(value) if self._copied else value)
        return self._read[0]

    def copy(self) -> Stored:
        """A deep copy of the value, made where it is read: another process has one of its own anyway."""
        return Stored(self.ref, True)


def plain(value: Any) -> Any:
    """The value itself, if it is a stored one."""
    return value.value() if type(value) is Stored else value


def of_plain(function: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    """`function`, called with values themselves."""
    if function is copy.deepcopy:
        return lambda value: value.copy() if type(value) is Stored else copy.deepcopy(value)
    return function and (lambda value: function(plain(value)))


def is_large(value: Any) -> bool:
    """Whether a value is worth to be stored, by the size of arrays, tensors and text that are found in it. It is a guess: either way gives the
    same values."""
    kind = type(value)
    if kind in _PLAIN:
        return False
    size = 0
    parts, left = [value], _MOST_PARTS
    while parts and size < _LARGE and left > 0:
        part = parts.pop()
        kind = type(part)
        left -= 1
        if kind in _PLAIN:
            continue
        if kind in _LINES:
            size += len(part)
        elif kind in _ROWS:
            if len(part) <= left:
                parts.extend(part)
        elif kind is dict:
            if len(part) <= left:
                parts.extend(part.values())
        elif hasattr(kind, "nbytes"):
            size += _bytes_of(part)
        elif kind.__dictoffset__:
            parts.extend(part.__dict__.values())
    return size >= _LARGE


def is_array(value: Any) -> bool:
    """Whether it is an array of numpy, and of no class derived from that."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is getattr(numpy, "ndarray", None)


def may_change(value: Any) -> bool:
    """Whether code that has a value may change it."""
    return not (type(value) in _PLAIN or type(value) in (str, bytes) or (is_array(value) and not value.flags.writeable))


def shape_of(value: Any) -> Any:
    """The attributes of an array that code can change although the array is read-only; None for any other value."""
    return (value.flags.writeable, value.shape, value.strides, value.dtype) if is_array(value) else None


def _bytes_of(part):
    try:
        return int(part.nbytes)
    except Exception:  # the program's own, and not a size
        return 0
