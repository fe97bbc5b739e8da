"""Ray's own libraries on Ray and on rayshim: python -m benchmarks rllib [--quick] [--repeats N] [ROW ...]"""

import argparse
import json
import statistics
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import contest, machine, report
from benchmarks.machine import REPOSITORY
from benchmarks.sides import SIDES
from rayshim.cli.compare.child import Child

RESULTS = Path(__file__).parent / "results"
PROGRAMS = REPOSITORY / "benchmarks" / "libraries"


@dataclass(frozen=True)
class Row:
    """A program of `benchmarks/libraries`. `figure` names the number that it prints, and `rate` says whether more is better."""

    name: str
    title: str
    script: str
    arguments: tuple[str, ...] = ()
    figure: str = "seconds"
    rate: bool = False
    required: float | None = None
    seeds: bool = False  # whether each round has a seed of its own


def _algorithm(name, title, figure, required, iterations, rate=False):
    return Row(name.lower(), title, "algorithm", (name, "--iterations", str(iterations)), figure, rate, required)


ROWS = {
    row.name: row
    for row in (
        _algorithm("PPO", "PPO, CartPole, an iteration", "iteration", 1.1, 4),
        _algorithm("DQN", "DQN, CartPole, an iteration", "iteration", 1.6, 4),
        _algorithm("SAC", "SAC, Pendulum, environment steps", "steps_per_second", 1.3, 4, True),
        _algorithm("IMPALA", "IMPALA, CartPole, environment steps", "steps_per_second", 1.8, 4, True),
        _algorithm("APPO", "APPO, CartPole, environment steps", "steps_per_second", 2.5, 4, True),
        Row(
            "start",
            "start of a PPO script to its first result",
            "algorithm",
            ("PPO", "--iterations", "1"),
            "first_result",
            False,
            3,
        ),
        Row("tuner", "Tune, 20 trivial trials", "tuner", required=6),
        Row("tuner_ppo", "Tuner with PPO, 2 trials, start to end", "tuned_ppo", required=1.3),
        Row("trainer", "TorchTrainer, 2 workers, start to end", "trainer", required=2),
        Row("data", "Data: read, map, shuffle and iterate 1 GiB", "data", required=1),
    )
}
HEADING = ("row", "Ray", "rayshim", "over Ray", "required", "results")


def arguments_from(argv):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks rllib",
        description="\n".join(f"{row.name:10}{row.title}" for row in ROWS.values()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help="names of rows (default: all)")
    parser.add_argument("--quick", action="store_true", help="one run of each side")
    parser.add_argument("--repeats", type=int, metavar="N", help="runs of each side (default 3; with --quick 1)")
    parser.add_argument(
        "--seeds",
        action="store_true",
        help="each round of ppo, dqn, sac, impala and appo has a seed of its own: 1, 2, ... (default: always 1)",
    )
    parser.add_argument("--iterations", type=int, metavar="N", help="of ppo, dqn, sac, impala and appo (default 4)")
    parser.add_argument(
        "--limit",
        type=float,
        default=300.0,
        metavar="S",
        help="seconds after which a run counts as failed (default: %(default)g)",
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="DIRECTORY",
        default=RESULTS,
        help="directory for rllib.json (default: %(default)s)",
    )
    arguments = parser.parse_args(argv)
    if unknown := set(arguments.rows) - set(ROWS):
        parser.error(f"no row is called {unknown.pop()!r}; there are {', '.join(ROWS)}")
    if arguments.repeats is not None and arguments.repeats < 1:
        parser.error("--repeats must be 1 or more")
    arguments.repeats = arguments.repeats or (1 if arguments.quick else 3)
    return arguments


def chosen(row, seeds, iterations):
    """The row with other arguments for its program, as the options `--seeds` and `--iterations` ask. Only algorithms have such."""
    if row.script != "algorithm" or row.figure == "first_result":
        return row
    arguments = list(row.arguments)
    if iterations:
        arguments[arguments.index("--iterations") + 1] = str(iterations)
    return replace(row, arguments=tuple(arguments), seeds=seeds)


def run_row(row, sides, repeats, limit, directory, tell=lambda side: None):
    """{side's name: [run, ...]}. The sides take turns, in the next round the other way round; one that failed is not run again.

    A run is what the program has printed, with `reason`, which is None unless it failed.
    """
    runs = {side.name: [] for side in sides}
    for number in range(repeats):
        for side in sides[:: 1 if number % 2 == 0 else -1]:
            tell(side)
            if not any(run["reason"] for run in runs[side.name]):
                path = Path(directory, f"{row.name}-{side.name}-{number}")
                more = ("--seed", str(number + 1)) if row.seeds else ()
                runs[side.name].append(_run(row, side, limit, path, more))
    return runs


def _run(row, side, limit, path, more=()):
    if missing := side.missing():
        return {"reason": missing}
    printed = path.with_suffix(".stdout")
    command = ["-W", "ignore", *side.launcher, str(PROGRAMS / f"{row.script}.py"), *row.arguments, *more]
    with Child(command, side.process_environment(), path, stdout=printed) as child:
        reason = next(event["reason"] for event in child.events(limit) if event["event"] == "over")
    if reason:
        return {"reason": reason}
    told = next(line for line in reversed(printed.read_text().splitlines()) if line.startswith("{"))
    return {**json.loads(told), "reason": None}


def summary(row, runs):
    """One row of the table.

    `figures` has the median by side, None where a run failed; `ratio` is the ratio of the medians, more than 1 where rayshim is faster;
    `same` whether all runs of both sides gave the same returns, those of one seed; `last` has the last return of each run by side.
    """
    figures = {}
    for side, found in runs.items():
        good = [run[row.figure] for run in found if not run["reason"]]
        figures[side] = statistics.median(good) if good and len(good) == len(found) else None
    ray, ours = figures.get("ray"), figures.get("rayshim")
    ratio = None
    if ray and ours:
        ratio = ours / ray if row.rate else ray / ours
    told = [
        (number * row.seeds, json.dumps(run["returns"]))
        for found in runs.values()
        for number, run in enumerate(found)
        if not run["reason"]
    ]
    last = {side: [run["returns"][-1] for run in found if not run["reason"]] for side, found in runs.items()}
    return {
        "name": row.name,
        "title": row.title,
        "rate": row.rate,
        "required": row.required,
        "figures": figures,
        "ratio": ratio,
        "same": len(set(told)) == len({seed for seed, _ in told}) if len(told) > 1 else None,
        "last": last if row.seeds else None,
        "runs": runs,
        "reasons": [f"{side}: {run['reason']}" for side, found in runs.items() for run in found if run["reason"]],
    }


def cells(found):
    """The cells of a row's line, those of HEADING."""

    def figure(value):
        if value is None:
            return "failed"
        return f"{report.three_digits(value)} /s" if found["rate"] else report.duration(value)

    same = {None: "", True: "same", False: "differ"}[found["same"]]
    ratio = report.three_digits(found["ratio"]) if found["ratio"] else ""
    sides = (figure(found["figures"][side]) for side in ("ray", "rayshim"))
    return [found["title"], *sides, ratio, f"{found['required']:g}", same]


def notes(found):
    """What is told of a row below the table: failures, and the last returns of its seeds."""
    lines = [f"{found['name']}: {reason}" for reason in found["reasons"]]
    for side, returns in (found.get("last") or {}).items():
        listed = ", ".join(report.three_digits(value) if value is not None else "none" for value in returns)
        lines.append(f"{found['name']}, {side}: last return of each seed {listed}")
    return lines


def markdown(found):
    lines = [f"| {' | '.join(HEADING)} |", "| --- | ---: | ---: | ---: | ---: | --- |"]
    lines += [f"| {' | '.join(cells(row))} |" for row in found["rows"]]
    lines += ["", f"{machine.in_words(found['machine'])}; medians of {found['settings']['repeats']} runs in turns."]
    lines += [f"- {line}" for row in found["rows"] for line in notes(row)]
    return "\n".join(lines) + "\n"


def main(argv=()):
    arguments = arguments_from(argv)
    console = Console()
    if not console.is_terminal:
        console.width = report.FILE_WIDTH
    rows = [chosen(ROWS[name], arguments.seeds, arguments.iterations) for name in dict.fromkeys(arguments.rows or ROWS)]
    sides = [SIDES["ray"], SIDES["rayshim"]]
    settings = {
        "repeats": arguments.repeats,
        "limit": arguments.limit,
        "seeds": arguments.seeds,
        "iterations": arguments.iterations,
    }
    found = {"benchmark": "rllib", "machine": machine.describe(), "settings": settings, "rows": []}
    with contest.shown() as progress, tempfile.TemporaryDirectory(prefix="rayshim-rllib-") as directory:
        bar = progress.add_task("", total=len(rows) * len(sides) * arguments.repeats)
        for row in rows:

            def tell(side, row=row):
                progress.update(bar, description=f"{row.name}: {side.title}", advance=1)

            runs = run_row(row, sides, arguments.repeats, arguments.limit, directory, tell)
            found["rows"].append(summary(row, runs))
    arguments.json.mkdir(parents=True, exist_ok=True)
    path = arguments.json / "rllib.json"
    path.write_text(json.dumps(found, indent=1) + "\n")
    table = Table(*HEADING)
    for row in found["rows"]:
        table.add_row(*cells(row))
    console.print(table)
    for row in found["rows"]:
        for line in notes(row):
            console.print(line, markup=False, highlight=False)
    console.print(machine.in_words(found["machine"]), style="dim", highlight=False)
    console.print(f"written: {path}", highlight=False)
    return 1 if any(row["reasons"] for row in found["rows"]) else 0
