"""A machine that saturates itself: python -m benchmarks saturate [--tasks NAME,...] [--seconds S] [--race NAME,...] [--rounds N] [--goal R] [--limit S] [PART ...]

Part grid: the setting that the controller of the policy "saturate" finds against the best of a full grid of settings, on each task.
Part race: SAC under this policy, on rayshim and on real Ray, beside the quickest synchronous policy, Stable-Baselines3 and RLlib.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import machine, report
from benchmarks.machine import REPOSITORY
from benchmarks.saturate_tasks import TASKS, missing
from benchmarks.sides import SIDES

RESULTS = Path(__file__).parent / "results"
PARTS = ("grid", "race")
# {name: (title, contestant of saturate_race, side whose `import ray` it gets, further arguments)}
RACE = {
    "saturate": ("saturate, the algorithm's own ratio", "saturate", "rayshim", ()),
    "free": ("saturate, ratio 8 to 256", "saturate", "rayshim", ("--ratio", "8,256")),
    "saturate-ray": ("saturate, own ratio, on Ray", "saturate", "ray", ()),
    "free-ray": ("saturate, ratio 8 to 256, on Ray", "saturate", "ray", ("--ratio", "8,256")),
    "synchronous": ("quickest synchronous policy", "synchronous", "rayshim", ()),
    "sb3": ("Stable-Baselines3", "sb3", "rayshim", ()),
    "rllib": ("RLlib on Ray", "rllib", "ray", ()),
}


def arguments_from(argv):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks saturate",
        description=__doc__.partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help="grid, race (default: both)")
    parser.add_argument("--tasks", default=",".join(TASKS), metavar="NAME,...", help="of the grid (default: all)")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="of a search (default: %(default)s)")
    parser.add_argument("--race", default=",".join(RACE), metavar="NAME,...", help="contestants (default: all)")
    parser.add_argument("--task", default="Pendulum", metavar="NAME", help="of the race (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="of the race (default: %(default)s)")
    parser.add_argument("--goal", type=float, default=-250.0, metavar="R", help="return (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=180.0, metavar="S", help="of each run (default: %(default)s)")
    arguments = parser.parse_args(argv)
    for names, known in (
        (arguments.parts, PARTS),
        (arguments.tasks, TASKS),
        (arguments.race, RACE),
        ([arguments.task], TASKS),
    ):
        names = names.split(",") if isinstance(names, str) else names
        if unknown := [name for name in names if name not in known]:
            parser.error(f"there is no {unknown[0]!r}; there are {', '.join(known)}")
    return arguments


def lines_of(side, *command):
    """The lines of JSON that a process of that side prints. RuntimeError: it failed."""
    command = [sys.executable, *side.launcher, *command]
    done = subprocess.run(command, cwd=REPOSITORY, env=side.process_environment(), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stderr[-3000:]}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"')]


def grid(arguments, console):
    """A line for each task that can be measured here."""
    found = []
    for task in arguments.tasks.split(","):
        if reason := missing(task):
            console.print(f"{task} is left out: {reason}", highlight=False)
            continue
        found += lines_of(SIDES["rayshim"], "-m", "benchmarks.saturate_tasks", str(arguments.seconds), task)
        one = found[-1]
        console.print(f"{task}: {one['share']:.1%} of the best of the grid", highlight=False)
    return found


def race(arguments, console):
    """{contestant: its lines, one for each seed}; contestants take turns."""
    found = {}
    for seed in range(1, arguments.rounds + 1):
        for name in arguments.race.split(","):
            title, contestant, side, more = RACE[name]
            command = ["-m", "benchmarks.saturate_race", contestant, "--task", arguments.task, "--seed", str(seed)]
            command += [f"--goal={arguments.goal}", "--limit", str(arguments.limit), *more]
            if name in found and not found[name]:
                continue  # failed before
            try:
                if reason := SIDES[side].missing():
                    raise RuntimeError(reason)
                found.setdefault(name, []).append(lines_of(SIDES[side], *command)[-1])
            except RuntimeError as error:
                found[name] = []
                console.print(f"{title} is left out: {error}", highlight=False, markup=False)
    return found


def grid_table(found):
    shown = Table(
        "task", "found", "best of the grid", "found / best", "seconds", "sampled/s", "updated/s", "machine idle"
    )
    for one in found:
        shown.add_row(
            one["task"],
            one["found"],
            one["best"],
            f"{one['share']:.1%}",
            f"{one['seconds']:.0f}",
            f"{one['sampled']:,.0f}",
            f"{one['updated']:,.0f}",
            f"{one['machine_idle']:.0%}",
        )
    return shown


def median(lines, name):
    """None counts as more than every number."""
    values = sorted((line[name] for line in lines), key=lambda value: float("inf") if value is None else value)
    middle = values[len(values) // 2]
    return statistics.median(values) if None not in values else middle


def race_table(found):
    shown = Table("contestant", "sampled/s", "updated/s", "seconds to the return", "steps", "machine idle")
    for column in shown.columns[1:]:
        column.justify = "right"
    for name, lines in found.items():
        if not lines:
            continue
        seconds, idle = median(lines, "seconds_to_return"), lines[0].get("machine_idle")
        shown.add_row(
            RACE[name][0],
            f"{median(lines, 'sampled'):,.0f}",
            f"{median(lines, 'updated'):,.0f}",
            "not reached" if seconds is None else f"{seconds:.1f}",
            f"{median(lines, 'steps'):,.0f}",
            "" if idle is None else f"{idle:.0%}",
        )
    return shown


def main(argv=()):
    arguments = arguments_from(argv)
    console = Console()
    if not console.is_terminal:
        console.width = report.FILE_WIDTH
    found = {"benchmark": "saturate", "machine": machine.describe()}
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / "saturate.json"
    for part, measure, table in (("grid", grid, grid_table), ("race", race, race_table)):
        if part in (arguments.parts or PARTS):
            found[part] = measure(arguments, console)
            path.write_text(json.dumps(found, indent=1) + "\n")
            console.print(table(found[part]))
    console.print(machine.in_words(found["machine"]), style="dim", highlight=False)
    console.print(f"written: {path}", highlight=False)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
