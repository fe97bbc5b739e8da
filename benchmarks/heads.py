"""Workloads head to head: python -m benchmarks NAME... [--repeat N] [--share S] [--quick] [--json DIRECTORY]"""

import argparse
import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import contest, machine, report, standings
from benchmarks.experiments import WORKLOADS
from benchmarks.physical import floors

RESULTS = Path(__file__).parent / "results"


def arguments_from(argv):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="\n".join(f"{workload.name:17} {workload.title}" for workload in WORKLOADS.values()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names", nargs="+", choices=[*WORKLOADS, "all"], metavar="NAME", help="names of workloads, or all"
    )
    parser.add_argument(
        "--quick", action="store_true", help="one process per competitor, a quarter of the rounds, fewer cases"
    )
    parser.add_argument("--repeat", type=int, metavar="N", help="processes per competitor (default 3; with --quick 1)")
    parser.add_argument(
        "--share",
        type=float,
        metavar="S",
        help="share of each workload's rounds in each process (default 1; with --quick 0.25)",
    )
    parser.add_argument(
        "--only",
        metavar="COMPETITORS",
        help="only these competitors: names separated by commas, such as ray,rayshim,limit",
    )
    parser.add_argument(
        "--json", type=Path, metavar="DIRECTORY", default=RESULTS, help="directory for NAME.json (default: %(default)s)"
    )
    arguments = parser.parse_args(argv)
    if arguments.repeat is not None and arguments.repeat < 1:
        parser.error("--repeat must be 1 or more")
    if arguments.share is not None and arguments.share <= 0:
        parser.error("--share must be above 0")
    names = WORKLOADS if "all" in arguments.names else dict.fromkeys(arguments.names)
    workloads = [WORKLOADS[name] for name in names]
    if arguments.only:
        try:
            workloads = [workload.with_only(arguments.only.split(",")) for workload in workloads]
        except ValueError as error:
            parser.error(str(error))
    return arguments, workloads


def run(workload, effort, progress=None):
    """Everything of a workload for its JSON."""
    found = {
        "benchmark": workload.name,
        "title": workload.title,
        "published": workload.published,
        "unit": workload.unit,
        "axis": workload.axis,
        "machine": machine.describe(),
        "settings": {
            "repeat": effort.repeat,
            "share": effort.share,
            "quick": effort.quick,
            "warm_up": workload.warm_up,
        },
        "floors": floors(),
    }
    cases = contest.run(workload, effort, progress)
    by_title = {case.title: case for case in workload.cases}
    found["cases"] = [{**case, **standings.summary(workload, by_title[case["title"]], case["runs"])} for case in cases]
    return found


def show(found, console):
    for case in found["cases"]:
        table = Table(*standings.heading(found), title=f"{found['title']}\n{case['title']}", title_justify="left")
        for column in table.columns[1:]:
            column.justify = "left" if column.header == standings.SAME else "right"
        for row in case["rows"]:
            table.add_row(*standings.cells(row, found))
        console.print(table)
        for text, style in standings.notes(case):
            console.print(text, style=style, markup=False, highlight=False)
    if found["published"]:
        console.print(f"published: {found['published']}", style="dim", highlight=False)
    console.print(f"{machine.in_words(found['machine'])}; {floors_in_words(found)}", style="dim", highlight=False)


def floors_in_words(found):
    """The machine's floors of the same run, one clause."""
    return ", ".join(
        f"{name.removeprefix('floor: ')} {report.duration(seconds)}" for name, seconds in found["floors"].items()
    )


def main(argv):
    arguments, workloads = arguments_from(argv)
    console = Console()
    if not console.is_terminal:
        console.width = report.FILE_WIDTH
    arguments.json.mkdir(parents=True, exist_ok=True)
    right = True
    for workload in workloads:
        with contest.shown() as progress:
            found = run(workload, contest.effort(arguments.quick, arguments.repeat, arguments.share), progress)
        path = arguments.json / f"{workload.name}.json"
        path.write_text(json.dumps(found, indent=1) + "\n")
        show(found, console)
        console.print(f"written: {path}", highlight=False)
        right &= not any(row["same"] is False for case in found["cases"] for row in case["rows"])
    return 0 if right else 1
