"""The floors of the machine, measured in the same run as what is held against them."""

import statistics

from benchmarks import micro, runner
from benchmarks.sides import SIDES


def floors():
    """{name: seconds} of the rows `floor: …` of `micro`; without those that could not be measured."""
    rows = [row for row in micro.ALL_ROWS if row.group == "floors"]
    costs = runner.run(rows, [SIDES["rayshim"]], runner.settings(quick=True, repeat=1), quiet=True)
    return {name: statistics.median(map(statistics.median, samples)) for (name, _), samples in costs.samples.items()}
