"""Timed order in a session: which timing file, whether it is written or followed."""

import os
import sys
import time
from typing import NamedTuple

import numpy as np
from reactor import _core

from rayshim.timing import file

SIGMA = 0.3  # of the logarithms of the factors of `timing_seed`


class TimingSetting(NamedTuple):
    """The setting "timing" of a session in timed order.

    Attributes:
        path: of its file.
        measured: whether this run measures and writes it, else it follows it.
        began: ns of (`time.time`, `time.monotonic`) at the begin of the measured run.
        clock: "logical" or "physical": what the clocks show the program.
    """

    path: str
    measured: bool
    began: tuple[int, int]
    clock: str


def prepare(path, seed=None, clock="physical"):
    """(TimingSetting, durations for `reactor.runtime.driver.driver.Driver`). ValueError for a file that is none, or was measured with another clock.
    `seed`: see `varied`."""
    path = os.path.abspath(os.fspath(path))
    if not os.path.exists(path):
        return TimingSetting(path, True, (time.time_ns(), time.monotonic_ns()), clock), (True, [], [0], [0], [])
    timings = file.read(path)
    if timings.clock != clock:
        raise ValueError(
            f"the timing file {path} was measured with clock={timings.clock!r}, and this run has clock={clock!r}: use the same clock, or name another "
            "file, and a run will measure the program again"
        )
    known = with_names(varied(timings, seed))
    arrays = (known.series, known.first_call, known.first_duration, known.durations)
    return TimingSetting(path, False, timings.began, clock), (False, *(array.tolist() for array in arrays))


def varied(timings, seed):
    """The Timings with each duration multiplied by a factor that is drawn from the seed: lognormal, with median 1 and sigma 0.3. Without a seed, and with
    0: as they are. The same seed, file and numpy have the same factors."""
    if not seed:
        return timings
    factors = np.exp(SIGMA * np.random.Generator(np.random.PCG64([seed])).standard_normal(len(timings.durations)))
    scaled = np.clip(np.rint(timings.durations * factors), 1, np.iinfo("<u4").max)
    return timings._replace(durations=scaled.astype("<u4"))


def with_names(timings):
    """The Timings, and for each name one more series, of all calls of that name: their durations serve for a series that was not recorded."""
    names, of = np.unique(np.array(timings.names, object), return_inverse=True)
    order = np.argsort(of, kind="stable")  # series by name
    counts = np.diff(timings.first_call)
    calls = _ranges(timings.first_call[:-1][order], counts[order])
    numbers = np.concatenate([timings.series, np.array([_core.timed_name(name) for name in names], "<u8")])
    call_counts = np.concatenate([counts, np.bincount(of, counts, len(names)).astype(np.int64)])
    calls = np.concatenate([np.arange(timings.calls), calls])
    # Sorted by number.
    order = np.argsort(numbers, kind="stable")
    first = np.cumsum(call_counts) - call_counts
    calls = calls[_ranges(first[order], call_counts[order])]
    lengths = np.diff(timings.first_duration)[calls]
    return file.Timings(
        [],
        numbers[order],
        np.concatenate([[0], np.cumsum(call_counts[order])]),
        np.concatenate([[0], np.cumsum(lengths)]),
        timings.durations[_ranges(timings.first_duration[:-1][calls], lengths)],
    )


def _ranges(starts, counts):
    """The numbers from starts[i] on, counts[i] of them, for each i: one array."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(counts.sum())


def end(setting):
    """Writes the file of a measured run, at its end, while the session is there; not after an uncaught exception or Ctrl-C, because a later run would follow a part
    of a run."""
    records = _core.timed_records()
    if not setting.measured:
        return
    if (failed := getattr(sys, "last_type", None)) is not None and not hasattr(sys, "ps1"):
        print(
            f"rayshim: the program ended with {failed.__name__}, so the timing file {setting.path} is not written. The next run will be measured again; "
            "to keep what an unfinished run has measured, end it with shutdown()",
            file=sys.stderr,
        )
        return
    timings = file.parse(records)._replace(began=setting.began, clock=setting.clock)
    try:
        file.write(setting.path, timings)
    except OSError as error:
        print(f"rayshim: the timing file {setting.path} cannot be written: {error}", file=sys.stderr)
        return
    print(
        f"rayshim: this run was measured, {timings.calls} calls. Later runs with the timing file {setting.path} have its order",
        file=sys.stderr,
    )
