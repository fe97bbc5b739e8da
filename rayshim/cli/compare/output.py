"""Compares the output of two runs."""

import re

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# The prefix of a worker's line on Ray and rayshim: "(Actor pid=12, ip=10.0.0.1) ", with the address only for another node.
_WORKER = re.compile(r"^\((\S+|\S+ \S+) pid=\d+[^)]*\) ")


def first_difference(one, other):
    """The first difference between the output (str) of two runs: (what, a line or None, the other line or None); None if there is no difference.

    The driver's lines are compared in order. The order of workers' lines depends on timing, so these are compared as a multiset, whichever
    worker printed them.
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


def without_prefixes(text):
    """The lines of the output, without colours and without the prefixes of workers' lines."""
    return [_WORKER.sub("", line) for line in _COLOUR.sub("", text).splitlines()]


def _split(text):
    """(lines of the driver, lines of the workers without their process ids)."""
    driver, workers = [], []
    for line in _COLOUR.sub("", text).splitlines():
        if _WORKER.match(line):
            workers.append(_WORKER.sub(r"(\1) ", line))
        else:
            driver.append(line)
    return driver, workers
