"""Runs the rows on every library, in turns, each turn in a process of its own."""

import importlib.util
import json
import os
import statistics
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.machine import REPOSITORY
from benchmarks.savina.rows import ROWS
from rayshim.cli.compare.child import Child
from rayshim.cli.compare.compare import RAY_ENVIRONMENT, SAME_HASHES


@dataclass(frozen=True)
class Side:
    """A library with its settings. `plan` is what `measure` opens; a side with `only` runs only these rows."""

    name: str
    title: str
    module: str
    plan: str
    only: tuple = ()
    environment: dict = field(default_factory=dict)

    def missing(self):
        """Why it cannot run here, or None."""
        if importlib.util.find_spec(self.module) is None:
            return f"{self.title} is not installed: pip install {self.module}"
        return None


_PARALLEL = tuple(row.name for row in ROWS.values() if row.parallel)
_WITHOUT_MULTIPORTS = ("ping-pong", "counting", "fork-join", "creation", "thread-ring", "logistic-map", "radix-sort")

SIDES = {
    side.name: side
    for side in (
        Side("reactor", "reactor", "reactor", "reactor:inline"),
        Side("reactor-packed", "reactor, packed", "reactor", "reactor:packed", _PARALLEL),
        Side("xronos", "xronos", "xronos", "xronos", _WITHOUT_MULTIPORTS),
        Side("rayshim", "rayshim", "rayshim", "rayshim"),
        Side("rayshim-arrival", "rayshim, by arrival", "rayshim", "rayshim:ordering=arrival"),
        Side("ray", "Ray", "ray", "ray", environment=RAY_ENVIRONMENT),
        Side("pykka", "pykka", "pykka", "pykka"),
        Side("thespian", "thespian", "thespian", "thespian:simpleSystemBase"),
        Side("xoscar", "xoscar", "xoscar", "xoscar:0"),
    )
}
OURS = ("reactor", "reactor-packed")  # of a row, the faster one counts
IN_ONE_PROCESS = ("reactor", "reactor-packed", "xronos", "pykka", "thespian", "xoscar")


def run(rows, sides, small, repeat, times, patience, doing=lambda side, row: None):
    """{row: {side: {"runs": [[seconds] of each process], "checksum": ..., "reason": why there is none or no more}}}"""
    found = {row.name: {} for row in rows}
    with tempfile.TemporaryDirectory(prefix="savina-") as directory:
        for number in range(repeat):
            for side in sides[:: 1 if number % 2 == 0 else -1]:
                wanted = [row for row in rows if row.name in side.only or not side.only]
                entries = {
                    row.name: found[row.name].setdefault(side.name, {"runs": [], "checksum": None, "reason": None})
                    for row in wanted
                }
                if reason := side.missing():
                    for entry in entries.values():
                        entry["reason"] = reason
                pending = {row.name: row for row in wanted if not entries[row.name]["reason"]}
                _turn(side, pending, small, times, patience, entries, Path(directory), doing)
    return found


def _turn(side, pending, small, times, patience, entries, directory, doing):
    """Runs a side once; after a row that ends its process, the others get a new one."""
    while pending:
        doing(side, next(iter(pending.values())))
        rows = [
            {"name": row.name, "module": row.module, "function": row.function, "parameters": row.small if small else row.published}
            for row in pending.values()
        ]  # fmt: skip
        number = len(list(directory.iterdir()))
        plan, out = directory / f"{number}.json", directory / f"{number}.out"
        plan.write_text(json.dumps({"side": side.plan, "rows": rows, "times": times}))
        environment = {**os.environ, **SAME_HASHES, **side.environment, "PYTHONPATH": str(REPOSITORY)}
        arguments = ["-m", "benchmarks.savina.measure", str(plan), str(out)]
        with Child(arguments, environment, out, cwd=REPOSITORY) as child:
            current = None
            for event in child.events(patience):
                if event["event"] == "start":
                    current = event["row"]
                    doing(side, pending[current])
                elif event["event"] == "samples":
                    _take(entries[event["row"]], event)
                    del pending[event["row"]]
                elif event["event"] == "failure":
                    entries[event["row"]]["reason"] = event["reason"]
                    del pending[event["row"]]
                elif event["event"] == "rows done":
                    break
                elif event["event"] == "over":
                    for name in [current] if current in pending else list(pending):
                        entries[name]["reason"] = event["reason"]
                        del pending[name]
                    break


def _take(entry, event):
    entry["runs"].append(event["samples"])
    if entry["checksum"] not in (None, event["checksum"]):
        entry["reason"] = f"gave {entry['checksum']} before, and now {event['checksum']}"
    entry["checksum"] = event["checksum"]


def seconds(entry):
    """The median over processes of their medians; None if it has not run."""
    return statistics.median(map(statistics.median, entry["runs"])) if entry["runs"] else None


def reference(sides):
    """The checksum that the others must have: that of the first side which has one."""
    return next((entry["checksum"] for entry in sides.values() if entry["checksum"] is not None), None)


def usable(entry, checksum):
    """Its seconds, if it gives the right checksum."""
    return seconds(entry) if entry and not entry["reason"] and entry["checksum"] == checksum else None


def ours(sides):
    """Seconds of the faster of reactor's placements."""
    checksum = reference(sides)
    return min((found for name in OURS if (found := usable(sides.get(name), checksum)) is not None), default=None)


def ratios(rows, side):
    """Seconds of a side over those of reactor, by row."""
    found = {}
    for name, sides in rows.items():
        theirs, our = usable(sides.get(side), reference(sides)), ours(sides)
        if theirs is not None and our is not None:
            found[name] = theirs / our
    return found
