"""Deep Q-learning on Ray and on rayshim: the same losses, the same policy, and how long each took."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks import machine, plot, sides
from benchmarks.child import Child
from benchmarks.processes import Sampler

PROGRAM = machine.REPOSITORY / "benchmarks" / "qlearning.py"
RESULTS = machine.REPOSITORY / "benchmarks" / "results"
SILENCE_SECONDS = 180.0


class SideFailed(Exception):
    """The program did not end well on one side."""


def first_difference(one, other):
    """What two runs learnt differently first, in words, or None; bit for bit, for both were told the same."""
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
    learnt_file, out = Path(directory, f"{side.name}.json"), Path(directory, f"{side.name}.out")
    command = [*side.launcher, str(PROGRAM), "--json", str(learnt_file), "--progress", str(out)]
    for option in ("rounds", "minibatch", "seed"):
        command += [f"--{option}", str(getattr(arguments, option))]
    clocks = {}
    with Child(side, command, out) as child, Sampler(child.tree) as sampler:
        for event in child.events(SILENCE_SECONDS):
            if event["event"] == "ready":
                clocks["ready"] = event["clock"]
                sampler.look()
                progress.update(bar, status="first round")
            elif event["event"] == "round":
                clocks["last round"] = event["clock"]
                if event["round"] == arguments.rounds // 2:
                    sampler.look()
                progress.update(bar, completed=event["round"], status=f"loss {event['loss']:.4f}")
            elif event["reason"] is not None:
                last_lines = "\n".join(child.log().splitlines()[-40:])
                raise SideFailed(f"{side.title}: {event['reason']}\n\n{last_lines}")
    learnt = json.loads(learnt_file.read_text())
    progress.update(bar, status="done")
    return {
        "learnt": learnt,
        "wall": child.ended - child.started,
        "start_up": clocks["ready"] - child.started,
        "training": learnt["training_seconds"],
        "leaving": child.ended - clocks["last round"],
        "rounds_per_second": arguments.rounds / learnt["training_seconds"],
        "steps_per_second": learnt["env_steps"] / learnt["training_seconds"],
        "cpu": child.tree.cpu_seconds(),
        "peak_memory": sampler.peak_memory,
        "left_behind": child.killed,
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


# Title, key, format of the figure in its unit, and whether more of it is better.
FIGURES = [
    ("wall time", "wall", lambda value: f"{value:.2f} s", False),
    ("rounds a second", "rounds_per_second", lambda value: f"{value:,.1f}", True),
    ("environment steps a second", "steps_per_second", lambda value: f"{value:,.0f}", True),
    ("start-up", "start_up", lambda value: f"{value:.2f} s", False),
    ("processor time, all processes", "cpu", lambda value: f"{value:.1f} s", False),
    ("peak proportional set size", "peak_memory", lambda value: f"{value / 2**20:,.0f} MiB", False),
]


def table(chosen, runs, title):
    shown = Table(title=title, title_justify="left")
    shown.add_column("")
    for side in chosen:
        shown.add_column(side.title, justify="right")
    both = len(chosen) == 2
    if both:
        shown.add_column("times better", justify="right")
    for name, key, form, more_is_better in FIGURES:
        values = [runs[side.name][key] for side in chosen]
        cells = [form(value) for value in values]
        if both:
            ray, rayshim = values
            cells.append(f"{rayshim / ray if more_is_better else ray / rayshim:.1f}")
        shown.add_row(name, *cells)
    return shown


def arguments_from(argv):
    parser = argparse.ArgumentParser(prog="python -m benchmarks demo", description=__doc__)
    parser.add_argument(
        "--rounds",
        type=int,
        default=os.environ.get("ROUNDS") or 100,
        help="the environment variable ROUNDS, or 100; the whole job is 500",
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
    console.print(table(chosen, runs, title))
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
