"""Programs run from `init` to `shutdown`, and what they show, for the tests of recorded runs."""

import os
import time

import rayshim
from rayshim.tests.plain import alike


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


def value(program, **how):
    """What `program(rayshim)` returns; `how`: for `init`."""
    return outcome(program, **how)[0]


def differs_and_is_replayed(program, path, monkeypatch):
    """Two runs of `program` under delays, by arrival, return other values, and replays of each return the same as it did. Records go to `path`."""
    monkeypatch.setenv("REACTOR_DELAYS", "2000")
    recorded = [value(program, record=path / str(k), ordering="arrival") for k in range(2)]
    assert recorded[0] != recorded[1]
    for k, expected in enumerate(recorded):
        for _ in range(2):
            assert value(program, replay=path / str(k)) == expected


def outcomes(ray, refs):
    """Of each ref: its value, or the class of its error."""
    shown = []
    for ref in refs:
        try:
            shown.append(ray.get(ref))
        except ray.exceptions.RayError as error:
            shown.append(type(error).__name__)
    return shown


class Slow:
    """For an actor: works for a time that differs in each run."""

    def work(self, number):
        time.sleep(some_time())
        return number


class Log:
    """For an actor: what others have told it, in order."""

    def __init__(self):
        self.lines = []

    def add(self, line):
        self.lines.append(line)

    def all(self):
        return self.lines
