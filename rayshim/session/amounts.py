"""Amounts of resources as the core counts them: whole numbers of 1/10000."""

from reactor import _core


def units(amount: float) -> int:
    """The number of 1/10000 in `amount`. What is left over is cut off, as on Ray: 0.57 * 10000 is a little less than 5700, and gives 5699."""
    return int(amount * _core.UNIT)
