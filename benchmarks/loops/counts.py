"""The output of these programs at their end: the progress of each of their loops over time."""

import bisect
import itertools
import json
import time

EVERY = 0.5  # seconds between two counts


def tell(start, **loops):
    """Prints one line of JSON: the seconds since `start`, and each loop's counts after 0.5, 1, 1.5 ... seconds and at the end.

    `start` is of the monotonic clock. A loop is a list of such times, one for each of its steps, taken in whatever process
    the loop runs in; a list of lists is several loops, which are numbered.
    """
    seconds = time.monotonic() - start
    named = {}
    for name, times in loops.items():
        if times and isinstance(times[0], list):
            named.update({f"{name} {number}": one for number, one in enumerate(times)})
        else:
            named[name] = times
    found = {name: counts(sorted(at - start for at in times), seconds) for name, times in named.items()}
    print(json.dumps({"seconds": seconds, "loops": found}))


def counts(steps, seconds):
    """{"0.5": count, "1": count, ..., "end": count} of a loop that made steps at these times, in order, in a run of `seconds`."""
    marks = itertools.takewhile(lambda at: at < seconds, (EVERY * number for number in itertools.count(1)))
    return {**{f"{at:g}": round(count(steps, at), 2) for at in marks}, "end": len(steps)}


def count(steps, at):
    """Steps made by the time `at`, with the part of the one under way: a step that takes long does not jump from 0 to 1."""
    done = bisect.bisect_right(steps, at)
    if done == len(steps):
        return float(done)
    since = steps[done - 1] if done else 0.0
    return done + (at - since) / (steps[done] - since)
