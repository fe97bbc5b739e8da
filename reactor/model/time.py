"""Time values, in whole nanoseconds, and tags: superdense time as in Lingua Franca."""

from __future__ import annotations

from typing import NamedTuple

FOREVER = (1 << 63) - 1
NEVER = -(1 << 63)

# Nanoseconds of each unit, by all the names that Lingua Franca gives it.
UNITS: dict[str, int] = {
    name: factor
    for factor, names in (
        (1, "ns nsec nsecs"),
        (10**3, "us usec usecs"),
        (10**6, "ms msec msecs"),
        (10**9, "s sec secs second seconds"),
        (60 * 10**9, "min mins minute minutes"),
        (3600 * 10**9, "h hour hours"),
        (86400 * 10**9, "d day days"),
        (7 * 86400 * 10**9, "week weeks"),
    )
    for name in names.split()
}


class Tag(NamedTuple):
    """A point of logical time: nanoseconds, then a microstep. Tags compare in the order in which they are reached."""

    time: int
    microstep: int = 0


def nsec(n: float = 1) -> int:
    return int(n)


def usec(n: float = 1) -> int:
    return round(n * 10**3)


def msec(n: float = 1) -> int:
    return round(n * 10**6)


def sec(n: float = 1) -> int:
    return round(n * 10**9)


def minutes(n: float = 1) -> int:
    return round(n * 60 * 10**9)


def parse(text: str) -> int:
    """Nanoseconds of "10 msec", "2 s", "0", "forever".

    Raises:
        ValueError: no number, no unit, or one that is not known.
    """
    text = text.strip()
    if text in ("forever", "never"):
        return FOREVER if text == "forever" else NEVER
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz").strip()
    unit = text[len(text.rstrip("abcdefghijklmnopqrstuvwxyz")) :]
    if unit not in UNITS and not (unit == "" and number.strip("0.") == ""):
        raise ValueError(f"{text!r} is not a time value: write a number and a unit, one of {', '.join(UNITS)}")
    return round(float(number) * UNITS.get(unit, 1))


def delayed(tag: tuple[int, int], delay: int) -> tuple[int, int]:
    """The tag `delay` nanoseconds later; a delay of 0 is the next microstep."""
    return (tag[0] + delay, 0) if delay else (tag[0], tag[1] + 1)
