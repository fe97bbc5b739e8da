"""Sums and averages over series of measurements, which Ray Serve takes from `ray._raylet` to decide how many replicas it needs.

A series is a list of points with `timestamp` (seconds) and `value`, in order of time. Each value holds until the next point.
"""

from collections import defaultdict
from itertools import accumulate
from math import copysign, floor, inf


def merge_instantaneous_total_cython(series):
    """The sum of several series as a list of (timestamp, value), with a point wherever one of them changes.

    Timestamps are rounded to 10 ms; changes that then fall together are added. One series alone stays as it is.
    """
    series = [points for points in series if points]
    if len(series) == 1:
        return [(point.timestamp, point.value) for point in series[0]]
    changes = defaultdict(float)
    for points in series:
        before = 0.0
        for point in points:
            if point.value != before:
                changes[_rounded(point.timestamp)] += point.value - before
                before = point.value
    times = sorted(changes)
    return list(zip(times, accumulate(changes[time] for time in times), strict=True))


def _rounded(timestamp):
    """To 10 ms, ties away from zero."""
    return copysign(floor(abs(timestamp) * 100 + 0.5) / 100, timestamp)


def time_weighted_average_cython(series, window_start, window_end, last_window_s):
    """The average of a series from `window_start` (-inf: its first point) to `window_end` (-inf: `last_window_s` after its last point).

    Before its first point the value is 0. None where there is nothing to average.
    """
    if not series:
        return None
    start = series[0].timestamp if window_start == -inf else window_start
    end = series[-1].timestamp + last_window_s if window_end == -inf else window_end
    if end <= start:
        return None
    total, value, at = 0.0, 0.0, start
    for point in series:
        if point.timestamp >= end:
            break
        if point.timestamp > start:
            total += value * (point.timestamp - at)
            at = point.timestamp
        value = point.value
    return (total + value * (end - at)) / (end - start)
