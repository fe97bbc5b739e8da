"""Whether two runs printed the same."""

import re

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# What Ray and rayshim put before a worker's line: "(Actor pid=12, ip=10.0.0.1) ", the address only for another node.
_WORKER = re.compile(r"^\((\S+|\S+ \S+) pid=\d+[^)]*\) ")


def first_difference(one, other):
    """Where what two runs printed (str) first differs: (what, a line or None, the other or None); None if it does not.

    The driver's lines are compared in their order. Workers' lines arrive when they arrive, so of those it is compared
    whether the same ones came, whoever printed them when.
    """
    ours, theirs = _split(one), _split(other)
    for number in range(max(len(ours[0]), len(theirs[0]))):
        pair = tuple(lines[number] if number < len(lines) else None for lines in (ours[0], theirs[0]))
        if pair[0] != pair[1]:
            return f"line {number + 1} of the driver", *pair
    for mine, yours in ((ours[1], theirs[1]), (theirs[1], ours[1])):
        left = list(yours)
        for line in mine:
            if line not in left:
                return "a worker's line", *((line, None) if mine is ours[1] else (None, line))
            left.remove(line)
    return None


def _split(text):
    """(the driver's lines, the workers' without their numbers)."""
    driver, workers = [], []
    for line in _COLOUR.sub("", text).splitlines():
        if _WORKER.match(line):
            workers.append(_WORKER.sub(r"(\1) ", line))
        else:
            driver.append(line)
    return driver, workers
