"""Whether concurrent loops keep Ray's pace: python -m benchmarks pace [--quick] [--repeats N] [PROGRAM ...]"""

import argparse
import itertools
import json
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import contest, machine, pace_summary, report
from benchmarks.machine import REPOSITORY
from benchmarks.pace_programs import ALL_SIDES, PLACEMENTS, PROGRAMS
from rayshim.cli.compare.child import Child

RESULTS = Path(__file__).parent / "results"


def arguments_from(argv):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks pace",
        description="\n".join(f"{program.name:20}{program.title}" for program in PROGRAMS.values()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="names of programs (default: all)")
    parser.add_argument("--quick", action="store_true", help="one run of each side, without inline placement")
    parser.add_argument("--repeats", type=int, metavar="N", help="runs of each side (default 3; with --quick 1)")
    parser.add_argument(
        "--limit",
        type=float,
        default=60.0,
        metavar="S",
        help="seconds after which a run counts as failed (default: %(default)g)",
    )
    parser.add_argument(
        "--json", type=Path, metavar="DIRECTORY", default=RESULTS, help="directory for pace.json (default: %(default)s)"
    )
    arguments = parser.parse_args(argv)
    if unknown := set(arguments.programs) - set(PROGRAMS):
        parser.error(f"no program is called {unknown.pop()!r}; there are {', '.join(PROGRAMS)}")
    if arguments.repeats is not None and arguments.repeats < 1:
        parser.error("--repeats must be 1 or more")
    arguments.repeats = arguments.repeats or (1 if arguments.quick else 3)
    return arguments


def run_program(program, sides, repeats, limit, directory, tell=lambda side: None):
    """{side's name: [run, ...]}. The sides take turns, in the next round the other way round; one that failed is not run again.

    A run has `seconds`, `loops` and `reason`, which is None unless it failed. `tell` is called with each side before its run.
    """
    sides = [side for side in sides if side.runs(program)]
    runs = {side.name: [] for side in sides}
    for number in range(repeats):
        for side in sides[:: 1 if number % 2 == 0 else -1]:
            tell(side)
            if not any(run["reason"] for run in runs[side.name]):
                runs[side.name].append(
                    run_once(program, side, limit, Path(directory, f"{program.name}-{side.name}-{number}"))
                )
    return runs


def run_once(program, side, limit, path):
    printed = path.with_suffix(".stdout")
    command = [*side.launcher, *program.command]
    with Child(command, side.environment, path, cwd=REPOSITORY, stdout=printed) as child:
        reason = next(event["reason"] for event in child.events(limit) if event["event"] == "over")
    if reason:
        return {"reason": reason}
    return {**json.loads(printed.read_text().splitlines()[-1]), "reason": None}


def run(programs, sides, repeats, limit, progress=None):
    """Everything for the JSON: the runs of all programs and the rows of the table. `progress` is a rich Progress."""
    found = {
        "benchmark": "pace",
        "machine": machine.describe(),
        "settings": {"repeats": repeats, "limit": limit},
        "programs": [],
    }
    bar = progress and progress.add_task(
        "", total=repeats * sum(side.runs(program) for program, side in itertools.product(programs, sides))
    )
    placements = [placement for placement in PLACEMENTS if any(side.name == placement for side in sides)]

    def tell(program, side):
        if progress:
            progress.update(bar, description=f"{program.name}: {side.name}", advance=1)

    with tempfile.TemporaryDirectory(prefix="rayshim-pace-") as directory:
        for program in programs:
            runs = run_program(program, sides, repeats, limit, directory, lambda side: tell(program, side))  # noqa: B023
            rows = [pace_summary.summary(runs, placement) for placement in placements if placement in runs]
            described = {"name": program.name, "title": program.title, "not_inline": program.not_inline}
            found["programs"].append({**described, "runs": runs, "rows": rows})
    return found


def show(found, console):
    table = Table(*pace_summary.HEADING)
    for column in table.columns[2:-1]:
        column.justify = "right"
    for program in found["programs"]:
        for row in program["rows"]:
            table.add_row(
                *pace_summary.cells(program["name"], row), {None: "", True: "[green]yes", False: "[red]no"}[row["met"]]
            )
        table.add_section()
    console.print(table)
    console.print(pace_summary.MEANING, style="dim", markup=False, highlight=False)
    for note in pace_summary.notes(found):
        console.print(note, markup=False, highlight=False)
    console.print(machine.in_words(found["machine"]), style="dim", highlight=False)


def main(argv=()):
    arguments = arguments_from(argv)
    console = Console()
    if not console.is_terminal:
        console.width = report.FILE_WIDTH
    programs = [PROGRAMS[name] for name in dict.fromkeys(arguments.programs or PROGRAMS)]
    sides = [side for side in ALL_SIDES if not (arguments.quick and side.placement == "inline")]
    with contest.shown() as progress:
        found = run(programs, sides, arguments.repeats, arguments.limit, progress)
    arguments.json.mkdir(parents=True, exist_ok=True)
    path = arguments.json / "pace.json"
    path.write_text(json.dumps(found, indent=1) + "\n")
    show(found, console)
    console.print(f"written: {path}", highlight=False)
    return 1 if any(row["met"] is False for program in found["programs"] for row in program["rows"]) else 0
