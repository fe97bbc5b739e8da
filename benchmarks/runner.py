"""Run groups of rows on several sides, alternating, each side in a process of its own."""

import json
import os
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.machine import REPOSITORY
from benchmarks.measure import Timing
from rayshim.cli.compare.child import Child


@dataclass(frozen=True)
class Settings:
    """`repeat` long processes with `timing` per side and group; of a brief side `pairs_share` of the `pairs` that
    the group's rows ask for, with the timing `brief`. `startups` per side for the start-up group.
    """

    repeat: int
    pairs_share: float
    startups: int
    timing: Timing
    brief: Timing

    def rounds(self, rows, sides):
        """The order of the sides in each round for a group of rows: a list of sides per round, reversed from round to round.

        A round of brief sides is a pair of short processes, so close together that what else the machine does
        meets both; there are several of them for each round of the others.
        """
        sides = [side for side in sides if any(row.runs_on(side) for row in rows)]
        if rows[0].group == "start-up":
            # One more, which fills the page cache for those that count.
            return _turning(sides, 1 + self.startups)
        brief = [side for side in sides if side.brief]
        pairs = max(round(max(row.pairs for row in rows) * self.pairs_share / self.repeat), 1)
        found = []
        for long in _turning([side for side in sides if not side.brief], self.repeat):
            found += [long, *_turning(brief, pairs)]
        return found


def _turning(sides, times):
    return [sides if number % 2 == 0 else sides[::-1] for number in range(times)]


def settings(quick, repeat):
    if quick:
        timing = Timing(warm_up=0.2, samples=3, seconds=0.12)
        brief = Timing(warm_up=0.1, samples=2, seconds=0.08)
        repeat = repeat or 1
        return Settings(repeat, 0.5, max(3, repeat), timing, brief)
    timing = Timing(warm_up=0.5, samples=5, seconds=0.25)
    brief = Timing(warm_up=0.15, samples=3, seconds=0.1)
    repeat = repeat or 2
    return Settings(repeat, 1.0, max(5, repeat), timing, brief)


@dataclass
class Costs:
    """What was found, by (row's name, side's name).

    `samples` has a list of samples per process, `failures` the reason why there is no more; `left_behind`
    counts, by side, the processes that had to be killed after their program's end.
    """

    samples: dict = field(default_factory=dict)
    failures: dict = field(default_factory=dict)
    left_behind: dict = field(default_factory=dict)


def run(rows, sides, settings, quiet=False):
    """Measure every row on every side that is installed; `quiet` draws no progress."""
    costs = Costs()
    present = []
    for side in sides:
        if reason := side.missing():
            print(f"{reason}: its column stays empty", file=sys.stderr)
            costs.failures.update({(row.name, side.name): reason for row in rows if row.runs_on(side)})
        else:
            present.append(side)
    groups = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    with (
        tempfile.TemporaryDirectory(prefix="rayshim-benchmarks-") as directory,
        Progress(*columns, refresh_per_second=2, disable=quiet) as progress,
    ):
        rounds = {group: settings.rounds(members, present) for group, members in groups.items()}
        bar = progress.add_task("", total=sum(len(sides) for group in rounds.values() for sides in group))

        def doing(side, what):
            progress.update(bar, description=f"{side.title}: {what}")

        for group, members in groups.items():
            for number, turn in enumerate(rounds[group]):
                discarded = group == "start-up" and number == 0
                target = Costs(failures=costs.failures) if discarded else costs
                for side in turn:
                    doing(side, group)
                    _measure_group(side, members, settings, directory, target, doing)
                    progress.advance(bar)
    return costs


def _measure_group(side, rows, settings, directory, costs, doing):
    """Measure what has not failed before; after a row that ends its process, the rest get a new one."""
    pending = {row.name: row for row in rows if (row.name, side.name) not in costs.failures and row.runs_on(side)}
    while pending:
        plan = {
            "module": side.module,
            "init": {"num_cpus": os.cpu_count(), **side.init},
            "timing": asdict(settings.brief if side.brief else settings.timing),
            "rows": [_in_plan(row, side) for row in pending.values() if row.workload],
        }
        module = "measure" if plan["rows"] else "startup"
        plan_file, out = Path(directory, "plan.json"), Path(directory, f"{len(os.listdir(directory))}.out")
        plan_file.write_text(json.dumps(plan))
        command = ["-m", f"benchmarks.{module}", str(plan_file), str(out)]
        with Child(command, side.process_environment(), out, cwd=REPOSITORY) as child:
            patience = max(row.patience for row in pending.values())
            _listen(child, side, pending, patience, costs, doing)
        if child.killed:
            costs.left_behind[side.name] = costs.left_behind.get(side.name, 0) + child.killed


def _in_plan(row, side):
    workload = row.compiled if side.compiled else row.workload
    return {
        "name": row.name,
        "workload": (workload.__module__, workload.__name__),
        "at_least": row.operations,
        "once": row.once,
    }


def _listen(child, side, pending, patience, costs, doing):
    """Take down a process's events until it ends; takes the rows that are dealt with out of `pending`."""
    current = None
    for event in child.events(patience):
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
