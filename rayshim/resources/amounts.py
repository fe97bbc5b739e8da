"""Amounts of resources as the core counts them: whole numbers of 1/10000."""

from reactor import _core

_MOST = 1 << 58  # the core adds amounts in 64 bits; no machine has as much of anything


def units(amount: float) -> int:
    """The number of 1/10000 in `amount`, at most 2**58. What is left over is cut off, as on Ray: 0.57 * 10000 is a little less than 5700, and
    gives 5699."""
    return min(int(amount * _core.UNIT), _MOST)
