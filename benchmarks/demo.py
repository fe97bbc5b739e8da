"""Deep Q-learning on Ray and on rayshim: compares losses, policy and time."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import machine, plot, program, sides
from rayshim.cli.compare import busy
from rayshim.cli.compare.figures import FIGURES, table

STEPS_PER_ROUND = 16 * 100
RESULTS = machine.REPOSITORY / "benchmarks" / "results"
SILENCE_SECONDS = 180.0


class SideFailed(Exception):
    """The program did not end well on one side."""


def first_difference(one, other):
    """The first difference, bit for bit, between the results of two runs, as text, or None."""
    for what in ("losses", "rewards"):
        for number, (ours, theirs) in enumerate(zip(one[what], other[what], strict=True), 1):
            if ours != theirs:
                return f"{what} differ first in round {number}: {ours!r} and {theirs!r}"
    for hand, ours in one["policy"].items():
        if ours != other["policy"][hand]:
            return f"the policies differ for {hand}: {ours} and {other['policy'][hand]}"
    return None


def run(side, arguments, directory, progress, bar):
    """Run the program on one side; what it learnt, and what that cost."""

    def listen(event):
        if event["event"] == "ready":
            progress.update(bar, status="first round")
        elif event["event"] == "round":
            progress.update(bar, completed=event["round"], status=f"loss {event['loss']:.4f}")

    wanted = {name: getattr(arguments, name) for name in ("rounds", "minibatch", "seed")}
    done = program.run(side, "qlearning", wanted, Path(directory, f"{side.name}.out"), SILENCE_SECONDS, listen)
    if done["reason"]:
        raise SideFailed("\n".join([f"{side.title}: {done['reason']}", "", *done["log"]]))
    progress.update(bar, status="done")
    training = sum(done["rounds"])
    return {
        **done,
        "learnt": done["figures"],
        "training": training,
        "leaving": done["wall"] - done["start_up"] - training,
        "rounds_per_second": arguments.rounds / training,
        "steps_per_second": arguments.rounds * STEPS_PER_ROUND / training,
    }


def run_all(chosen, arguments):
    columns = [
        TextColumn("{task.description:8}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[status]}"),
        TimeElapsedColumn(),
    ]
    with (
        tempfile.TemporaryDirectory(prefix="rayshim-demo-") as directory,
        Progress(*columns, refresh_per_second=4) as progress,
    ):
        bars = [progress.add_task(side.title, total=arguments.rounds, start=False, status="waiting") for side in chosen]
        # The first to import torch would read it from the disk for the other.
        modules = ", ".join(["torch", "gymnasium", *(side.module for side in chosen)])
        subprocess.run([sys.executable, "-c", f"import {modules}"], cwd=machine.REPOSITORY, capture_output=True)
        runs = {}
        for side, bar in zip(chosen, bars, strict=True):
            progress.start_task(bar)
            progress.update(bar, status="starting")
            runs[side.name] = run(side, arguments, directory, progress, bar)
            progress.stop_task(bar)
    return runs


RATES = [
    ("rounds a second", "rounds_per_second", lambda value: f"{value:,.1f}", True),
    ("environment steps a second", "steps_per_second", lambda value: f"{value:,.0f}", True),
]


def arguments_from(argv):
    parser = argparse.ArgumentParser(prog="python -m benchmarks demo", description=__doc__)
    parser.add_argument(
        "--rounds",
        type=int,
        default=os.environ.get("ROUNDS") or 100,
        help="number of rounds; default: the environment variable ROUNDS, or 100. The whole job has 500",
    )
    parser.add_argument("--minibatch", type=int, default=500, help="500, 1000 or 2000 (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    if arguments.rounds < 1:
        parser.error("--rounds must be 1 or more")
    return arguments


def main(argv):
    arguments = arguments_from(argv)
    console = Console()
    if reason := sides.SIDES["rayshim"].missing():
        console.print(reason, style="red", markup=False)
        return 1
    chosen = sides.named("ray,rayshim")
    if reason := sides.SIDES["ray"].missing():
        chosen.remove(sides.SIDES["ray"])
        console.print(f"{reason}; rayshim runs alone", style="yellow", markup=False)
    described = machine.describe()
    try:
        runs = run_all(chosen, arguments)
    except SideFailed as error:
        console.print(str(error), style="red", markup=False)
        return 1

    title = f"Deep Q-learning, 16 rollout actors, {arguments.rounds} rounds, minibatch {arguments.minibatch}"
    titles = [side.title for side in chosen]
    if (warning := busy.warning(list(runs.values()))) is not None:
        console.print(warning, style="yellow", highlight=False)
    console.print(table(titles, [runs[side.name] for side in chosen], [*FIGURES[:1], *RATES, *FIGURES[1:]], title))
    console.print(machine.in_words(described), style="dim", highlight=False)
    for side in chosen:
        if number := runs[side.name]["left_behind"]:
            console.print(f"WARNING: {side.title} left {number} processes behind, which were killed", style="yellow")
    difference = first_difference(*(runs[side.name]["learnt"] for side in chosen)) if len(chosen) == 2 else None

    RESULTS.mkdir(exist_ok=True)
    found = {"benchmark": "demo", "machine": described, "arguments": vars(arguments), "runs": runs}
    (RESULTS / "demo.json").write_text(json.dumps(found, indent=1) + "\n")
    plot.learning(chosen, runs, RESULTS / "demo.png")
    console.print(f"written: {RESULTS / 'demo.png'}, {RESULTS / 'demo.json'}", highlight=False)
    if difference:
        console.print(f"DIFFERENT RESULTS, {chosen[0].title} and {chosen[1].title}: {difference}", style="bold red")
        return 1
    if len(chosen) == 2:
        console.print(
            f"same results: {arguments.rounds} losses and rewards, bit for bit, and the policy", style="green"
        )
    return 0
