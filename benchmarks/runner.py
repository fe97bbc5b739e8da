"""Run groups of rows on several sides, alternating, each side in a process of its own."""

import json
import os
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.child import Child
from benchmarks.measure import Timing


@dataclass(frozen=True)
class Settings:
    """`repeat` processes per side and group, `startups` per side for the start-up group.

    A row that says nothing for `timeout` seconds has failed.
    """

    repeat: int
    startups: int
    timing: Timing
    timeout: float

    def processes(self, group):
        # One start-up more, which fills the page cache for those that count.
        return 1 + self.startups if group == "start-up" else self.repeat


def settings(quick, repeat):
    if quick:
        repeat = repeat or 1
        return Settings(repeat, max(3, repeat), Timing(warm_up=0.2, samples=3, seconds=0.12), timeout=30)
    repeat = repeat or 2
    return Settings(repeat, max(5, repeat), Timing(warm_up=0.5, samples=5, seconds=0.25), timeout=60)


@dataclass
class Costs:
    """What was found, by (row's name, side's name).

    `samples` has a list of samples per process, `failures` the reason why there is no more; `left_behind`
    counts, by side, the processes that had to be killed after their program's end.
    """

    samples: dict = field(default_factory=dict)
    failures: dict = field(default_factory=dict)
    left_behind: dict = field(default_factory=dict)


def run(rows, sides, settings):
    """Measure every row on every side that is installed."""
    costs = Costs()
    present = []
    for side in sides:
        if reason := side.missing():
            print(f"{reason}: its column stays empty", file=sys.stderr)
            costs.failures.update({(row.name, side.name): reason for row in rows})
        else:
            present.append(side)
    groups = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    with (
        tempfile.TemporaryDirectory(prefix="rayshim-benchmarks-") as directory,
        Progress(*columns, refresh_per_second=2) as progress,
    ):
        bar = progress.add_task("", total=sum(map(settings.processes, groups)) * len(present))

        def doing(side, what):
            progress.update(bar, description=f"{side.title}: {what}")

        for group, members in groups.items():
            for number in range(settings.processes(group)):
                discarded = group == "start-up" and number == 0
                target = Costs(failures=costs.failures) if discarded else costs
                for side in present if number % 2 == 0 else reversed(present):
                    doing(side, group)
                    _measure_group(side, members, settings, directory, target, doing)
                    progress.advance(bar)
    return costs


def _measure_group(side, rows, settings, directory, costs, doing):
    """Measure what has not failed before; after a row that ends its process, the rest get a new one."""
    pending = {
        row.name: row
        for row in rows
        if (row.name, side.name) not in costs.failures and (not row.only or side.name in row.only)
    }
    while pending:
        plan = {
            "module": side.module,
            "init": {"num_cpus": os.cpu_count(), **side.init},
            "timing": asdict(settings.timing),
            "rows": [
                {"name": row.name, "workload": row.workload.__name__, "at_least": row.operations}
                for row in pending.values()
                if row.workload
            ],
        }
        module = "measure" if plan["rows"] else "startup"
        plan_file, out = Path(directory, "plan.json"), Path(directory, f"{len(os.listdir(directory))}.out")
        plan_file.write_text(json.dumps(plan))
        with Child(side, ["-m", f"benchmarks.{module}", str(plan_file), str(out)], out) as child:
            _listen(child, side, pending, settings.timeout, costs, doing)
        if child.killed:
            costs.left_behind[side.name] = costs.left_behind.get(side.name, 0) + child.killed


def _listen(child, side, pending, timeout, costs, doing):
    """Take down a process's events until it ends; takes the rows that are dealt with out of `pending`."""
    current = None
    for event in child.events(timeout):
        if event["event"] == "start":
            current = event["row"]
            doing(side, current)
        elif event["event"] == "samples":
            # A start-up measures all of its rows at once, wanted or not.
            if pending.pop(event["row"], None):
                costs.samples.setdefault((event["row"], side.name), []).append(event["samples"])
        elif event["event"] == "failure":
            costs.failures[event["row"], side.name] = event["reason"]
            del pending[event["row"]]
        elif event["event"] == "rows done":
            return
        elif event["event"] == "over":
            # Before its first row a process can only fail for all of them.
            for name in [current] if current in pending else list(pending):
                costs.failures[name, side.name] = event["reason"]
                del pending[name]
            return
