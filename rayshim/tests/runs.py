"""Programs run from `init` to `shutdown`, and what they show, for the tests of recorded runs."""

import os

import rayshim
from rayshim.tests.callers import alike


def some_time():
    """Up to 10 ms, other in each run, whatever the seed."""
    return (1 + os.urandom(1)[0]) / 25600


def outcome(program, **how):
    """(what `program(rayshim)` returns, the run's digest); `how`: for `init`."""
    rayshim.init(num_cpus=4, logging_level="ERROR", **how)
    try:
        return alike(program(rayshim)), rayshim.digest()
    finally:
        rayshim.shutdown()


def outcomes(ray, refs):
    """Of each ref: its value, or the class of its error."""
    shown = []
    for ref in refs:
        try:
            shown.append(ray.get(ref))
        except ray.exceptions.RayError as error:
            shown.append(type(error).__name__)
    return shown


class Log:
    """For an actor: what others have told it, in order."""

    def __init__(self):
        self.lines = []

    def add(self, line):
        self.lines.append(line)

    def all(self):
        return self.lines
