"""Timed order: python -m benchmarks timed [--repeats N] [--placement NAME] [--outputs] [PROGRAM ...]

Each program of `benchmarks/loops` is measured once and follows its timing file from then on, in turn with runs by arrival, which shows the pace. With `--outputs` it
follows it in each placement, with the logical clock, which shows whether each run prints the same.
"""

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import contest, machine, report
from benchmarks.pace import RESULTS, run_once
from benchmarks.pace_programs import PROGRAMS, PaceSide
from benchmarks.sides import SIDES

PLACEMENTS = ("isolated", "packed")


def arguments_from(argv):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks timed",
        description="\n".join(f"{program.name:20}{program.title}" for program in PROGRAMS.values()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="names of programs (default: all)")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="runs of each side (default: %(default)s)")
    parser.add_argument("--placement", default="isolated", choices=PLACEMENTS, help="of all runs")
    parser.add_argument(
        "--outputs",
        action="store_true",
        help='instead of the pace: whether runs with clock="logical" in both placements print what the measured one, in --placement, has printed',
    )
    parser.add_argument(
        "--limit", type=float, default=100.0, metavar="S", help="seconds after which a run counts as failed"
    )
    arguments = parser.parse_args(argv)
    if unknown := set(arguments.programs) - set(PROGRAMS):
        parser.error(f"no program is called {unknown.pop()!r}; there are {', '.join(PROGRAMS)}")
    return arguments


def sides(placement, file, *options):
    """(by arrival, in timed order with that file and these options)"""
    plain = SIDES["rayshim"]
    launcher = (*plain.launcher, "--placement", placement, "--seed", "1")
    timed = ("--ordering", "timed", "--timing", str(file), *options)
    environment = plain.process_environment()
    return (
        PaceSide("arrival", (*launcher, "--ordering", "arrival"), environment, placement, "arrival"),
        PaceSide("timed", (*launcher, *timed), environment, placement, "timed"),
    )


def steps(run):
    """{loop: its steps in the whole run}, the part of the output that does not depend on the clock."""
    return {name: counts["end"] for name, counts in run["loops"].items()}


def compare(program, placement, repeats, limit, directory, tell=lambda: None):
    """The measured run, and the runs by arrival and in timed order, which take turns."""
    arrival, timed = sides(placement, Path(directory, f"{program.name}.timing"))
    runs = {"measured": [run_once(program, timed, limit, Path(directory, f"{program.name}-measured"))]}
    tell()
    for number in range(repeats):
        for side in (arrival, timed)[:: 1 if number % 2 == 0 else -1]:
            runs.setdefault(side.name, []).append(
                run_once(program, side, limit, Path(directory, f"{program.name}-{side.name}-{number}"))
            )
            tell()
    return runs


def outputs(program, measured_in, repeats, limit, directory, tell=lambda: None):
    """How many runs printed, all clocks included, what the measured one has printed: {placement: number}, and why a run failed, None for none."""
    order = [measured_in, *(placement for _ in range(repeats) for placement in PLACEMENTS)]
    first, same = None, dict.fromkeys(PLACEMENTS, 0)
    for number, placement in enumerate(order):
        _, timed = sides(placement, Path(directory, f"{program.name}.timing"), "--clock", "logical")
        run = run_once(program, timed, limit, Path(directory, f"{program.name}-{number}"))
        tell()
        if run["reason"]:
            return same, run["reason"]
        if first is None:
            first = run
        else:
            same[placement] += run == first
    return same, None


def row(runs):
    """The figures of a program: seconds, pace over arrival order, and in how many of its timed runs each loop made as many steps as when measured."""
    if any(run["reason"] for some in runs.values() for run in some):
        return {"failed": next(run["reason"] for some in runs.values() for run in some if run["reason"])}
    first = steps(runs["measured"][0])
    seconds = {name: statistics.median(run["seconds"] for run in some) for name, some in runs.items()}
    return {
        "seconds": seconds,
        "pace": seconds["arrival"] / seconds["timed"],
        "same": sum(steps(run) == first for run in runs["timed"]),
        "of": len(runs["timed"]),
    }


def show(found, console):
    table = Table(
        "program", "measured, s", "by arrival, s", "timed, s", "pace over arrival", "runs with the measured one's steps"
    )
    for column in table.columns[1:]:
        column.justify = "right"
    paces = []
    for program in found["programs"]:
        figures = program["row"]
        if "failed" in figures:
            table.add_row(program["name"], "", "", "", "", figures["failed"])
            continue
        times = [f"{figures['seconds'][name]:.2f}" for name in ("measured", "arrival", "timed")]
        paces.append(figures["pace"])
        table.add_row(program["name"], *times, f"{figures['pace']:.2f}", f"{figures['same']} of {figures['of']}")
    console.print(table)
    if paces:
        console.print(f"pace over arrival order: median {statistics.median(paces):.2f}, least {min(paces):.2f}")
    console.print(machine.in_words(found["machine"]), style="dim", highlight=False)


def show_outputs(found, console):
    repeats = found["repeats"]
    table = Table("program", *(f"{placement}, of {repeats}" for placement in PLACEMENTS), "")
    for program in found["programs"]:
        table.add_row(program["name"], *(str(program["same"][name]) for name in PLACEMENTS), program["failed"] or "")
    console.print("runs that print what the measured run has printed:")
    console.print(table)
    console.print(machine.in_words(found["machine"]), style="dim", highlight=False)


def main(argv=()):
    arguments = arguments_from(argv)
    console = Console()
    if not console.is_terminal:
        console.width = report.FILE_WIDTH
    programs = [PROGRAMS[name] for name in dict.fromkeys(arguments.programs or PROGRAMS)]
    found = {"benchmark": "timed", "machine": machine.describe(), "placement": arguments.placement, "programs": []}
    found["repeats"] = arguments.repeats
    with contest.shown() as progress, tempfile.TemporaryDirectory(prefix="rayshim-timed-") as directory:
        bar = progress and progress.add_task("", total=len(programs) * (1 + 2 * arguments.repeats))

        def tell():
            if progress:
                progress.update(bar, advance=1)

        for program in programs:
            how = (program, arguments.placement, arguments.repeats, arguments.limit, directory, tell)
            if arguments.outputs:
                same, failed = outputs(*how)
                found["programs"].append({"name": program.name, "same": same, "failed": failed})
            else:
                runs = compare(*how)
                found["programs"].append({"name": program.name, "runs": runs, "row": row(runs)})
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"timed-{'outputs' if arguments.outputs else arguments.placement}.json"
    path.write_text(json.dumps(found, indent=1) + "\n")
    (show_outputs if arguments.outputs else show)(found, console)
    console.print(f"written: {path}", highlight=False)
    return 0
