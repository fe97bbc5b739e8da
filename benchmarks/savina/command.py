"""Savina, a suite of actor programs, on reactor, on rayshim and Ray, and on other actor libraries for Python.

The rows are the configurations of "High-Performance Deterministic Concurrency Using Lingua Franca" (TACO, 2023), without A* and the
sleeping barber, and with fork join (creation) of the original suite. They are written once as reactors and once as actors.
"""

import argparse
import json
import statistics
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks import machine
from benchmarks.contest import shown
from benchmarks.savina import contest
from benchmarks.savina.rows import ROWS

RESULTS = Path(__file__).parents[1] / "results"


def main(argv):
    arguments = _parser().parse_args(argv)
    names = arguments.names or list(ROWS)
    chosen = (
        arguments.sides.split(",")
        if arguments.sides
        else list(contest.SIDES if arguments.small else contest.IN_ONE_PROCESS)
    )
    for kind, given, known in (("row", names, ROWS), ("side", chosen, contest.SIDES)):
        if unknown := [name for name in given if name not in known]:
            raise SystemExit(f"no {kind} is called {unknown[0]!r}; there are {', '.join(known)}")
    sides = [contest.SIDES[name] for name in chosen]
    described = machine.describe()
    with shown() as progress:
        bar = progress.add_task("", total=None)

        def doing(side, row):
            progress.update(bar, description=f"{side.title}: {row.title}")

        rows = contest.run(
            [ROWS[name] for name in names], sides, arguments.small, arguments.repeat, arguments.times, arguments.patience, doing
        )  # fmt: skip
    found = {
        "benchmark": "savina",
        "machine": described,
        "versions": {side.title: machine.version(side.module) for side in sides if not side.missing()},
        "small": arguments.small,
        "sides": chosen,
        "rows": rows,
    }
    _show(found)
    path = arguments.json or RESULTS / ("savina-small.json" if arguments.small else "savina.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n")
    print(f"written: {path}")
    return 1 if _different(found) else 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks savina", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"rows: {', '.join(ROWS)}; default: all")
    parser.add_argument("--small", action="store_true", help="few actors and messages, so that Ray needs seconds")
    parser.add_argument(
        "--sides",
        help=f"of {','.join(contest.SIDES)}; default: all with --small, else those that need no process per actor",
    )
    parser.add_argument("--repeat", type=int, default=3, help="processes of each side (default: %(default)s)")
    parser.add_argument(
        "--times", type=int, default=4, help="runs of a row in each process, the first of which does not count"
    )
    parser.add_argument("--patience", type=float, default=120.0, help="seconds for one row (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="file for the result")
    return parser


def _different(found):
    """Rows and sides whose checksum is not that of the first side."""
    return [
        (name, side)
        for name, sides in found["rows"].items()
        for side, entry in sides.items()
        if entry["checksum"] not in (None, contest.reference(sides))
    ]


def cells(found):
    """(titles of the columns, the rows as text): milliseconds, and beside reactor's the others' ratio to it; at the end geometric means."""
    titles = ["", *(contest.SIDES[side].title for side in found["sides"])]
    lines = []
    for name, sides in found["rows"].items():
        our = contest.ours(sides)
        lines.append([ROWS[name].title, *(_cell(side, sides, our) for side in found["sides"])])
    means = []
    for side in found["sides"]:
        ratios = list(contest.ratios(found["rows"], side).values())
        shown = ratios and side not in contest.OURS
        means.append(f"{statistics.geometric_mean(ratios):.1f}x ({len(ratios)})" if shown else "")
    lines.append(["geometric mean (rows)", *means])
    return titles, lines


def _cell(side, sides, our):
    entry = sides.get(side)
    if entry is None:
        return "-"
    if entry["reason"]:
        return "failed" if "no result within" not in entry["reason"] else "too long"
    if entry["checksum"] != contest.reference(sides):
        return "DIFFERENT"
    taken = contest.seconds(entry)
    text = f"{taken * 1e3:,.1f}"
    return text if side in contest.OURS or our is None else f"{text}  {taken / our:.1f}x"


def _words(found):
    versions = ", ".join(f"{title} {version}" for title, version in found["versions"].items() if version)
    size = "small parameters" if found["small"] else "published parameters"
    return f"{size}; milliseconds, and times reactor's; {versions}"


def _show(found):
    console = Console()
    titles, lines = cells(found)
    table = Table(title=f"Savina, {_words(found)}", show_footer=False)
    for number, title in enumerate(titles):
        table.add_column(title, justify="right" if number else "left")
    for line in lines:
        table.add_row(*line, end_section=line is lines[-2])
    console.print(table)
    for name, sides in found["rows"].items():
        for side, entry in sides.items():
            if entry["reason"]:
                console.print(
                    escape(f"{ROWS[name].title}, {contest.SIDES[side].title}: {entry['reason']}"), highlight=False
                )
    for name, side in _different(found):
        entry = found["rows"][name][side]
        console.print(
            escape(f"{name}: {side} gives {entry['checksum']}, others {contest.reference(found['rows'][name])}"),
            style="red",
        )


def markdown(found):
    """The table of a result's JSON."""
    titles, lines = cells(found)
    head = [f"| {' | '.join(titles)} |", "| --- |" + " ---: |" * (len(titles) - 1)]
    return (
        "\n".join([*head, *(f"| {' | '.join(line)} |" for line in lines)])
        + f"\n\n{_words(found)}; {machine.in_words(found['machine'])}.\n"
    )
