"""The programs of "Efficient Parallel Reinforcement Learning Framework using the Reactor Model": the authors' scripts for Ray on Ray and
on rayshim, and their Lingua Franca programs under `python -m reactor`, each as it is.

The directory is a checkout of github.com/jackyk02/parallel_rl_benchmarks. A program runs until it has printed as many rounds as are
measured, and is then ended.
"""

import argparse
import json
import os
import re
import select
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks import machine
from rayshim.cli.compare.child import Child
from rayshim.cli.compare.compare import RAY_ENVIRONMENT, SAME_HASHES

RESULTS = Path(__file__).parents[1] / "results"
_SHIMS = Path(__file__).parent


@dataclass(frozen=True)
class Experiment:
    """A script for Ray and a Lingua Franca program that does the same.

    `line` is what both print once in a round. With a group, that is the round's cost in seconds; else the cost is the time from the first
    round to the last by their number, because what a worker prints comes in bursts. `rounds` is how many are measured, `paper` what the paper
    printed. `workers` is how many processes the Lingua Franca program gets: one per member of its bank, which sleep side by side; with 0 it
    is inline. `files` are those that both read from the directory where they are started. `environment` takes the place of the one that the
    Lingua Franca program names.
    """

    title: str
    script: str
    program: str
    line: str
    paper: str
    workers: int
    rounds: int
    files: str = ""
    environment: str = ""


_OVERHEAD = r"Overhead: ([-\d.]+) seconds"
EXPERIMENTS = {
    **{
        f"actors-{n}": Experiment(
            f"{n} actors, 10 MB, time beyond the sleep of 0.5 s",
            f"1.Number_of_Actors/actors{n}.py",
            "1.Number_of_Actors/workers16/workers16.lf" if n == 16 else f"1.Number_of_Actors/lf_src_file/workers{n}.lf",
            _OVERHEAD,
            "2.4 to 3.4",
            n,
            30,
        )
        for n in (2, 4, 8, 16)
    },
    "object-10mb": Experiment(
        "16 actors, 10 MB, time beyond the sleep of 0.5 s",
        "2.Object_Size/10mb_ray.py",
        "2.Object_Size/lf_src_file/workers16.lf",
        _OVERHEAD,
        "1.4 to 3.4",
        16,
        30,
    ),
    "gym": Experiment(
        "15 CartPole-v1, a step of each",
        "3.Gym_Environments/cartpole_ray.py",
        "3.Gym_Environments/lf_src_file/sample_efficiency.lf",
        r"Step: \d+",
        "1.21",
        0,
        1500,
    ),
    **{
        f"atari-{name}": Experiment(
            f"15 {environment}, a step of each",
            f"4.Atari_Environments/{script}_ray.py",
            "4.Atari_Environments/lf_src_file/sample_efficiency.lf",
            r"Step: \d+",
            "11.62",
            0,
            300,
            environment=environment,
        )
        for name, script, environment in (
            ("pong", "pong", "Pong-v4"),
            ("pacman", "pacman", "MsPacman-v4"),
            ("invaders", "spaceinvader", "SpaceInvaders-v4"),
        )
    },
    "q-learning": Experiment(
        "Q-learning, 16 x 100 steps, minibatch 250",
        "5.Parallel_Q_learning/sample_250/blackjack_dqn_train_deterministic.py",
        "5.Parallel_Q_learning/lf_src_file/DQN_deterministic.lf",
        r"Round \d+, Training Time",
        "1.45 (31.2% less time, at 500)",
        0,
        60,
    ),
    **{
        f"inference-{n}": Experiment(
            f"multi-agent inference, {n} agents",
            f"6.Multi_Agent_Inference/marl_{n}_agents/ray/traffic_infer.py",
            f"6.Multi_Agent_Inference/lf_src_file/trafficv{n}.lf",
            r"Episode: \d+",
            "5.12",
            0,
            1000,
            files=f"6.Multi_Agent_Inference/marl_{n}_agents/ray/*.pth",
        )
        for n in (4, 10)
    },
}
_SIDES = ("Ray", "rayshim", "reactor")
_DISCARDED = 3  # rounds at the start


def main(argv):
    arguments = _parser().parse_args(argv)
    if unknown := [name for name in arguments.names if name not in EXPERIMENTS]:
        raise SystemExit(f"no experiment is called {unknown[0]!r}; there are {', '.join(EXPERIMENTS)}")
    chosen = {name: EXPERIMENTS[name] for name in arguments.names or EXPERIMENTS}
    found = {"benchmark": "published", "machine": machine.describe(), "experiments": {}}
    for name, experiment in chosen.items():
        runs, rounds = {side: [] for side in _SIDES}, max(round(experiment.rounds * arguments.share), 3)
        for number in range(arguments.repeat):
            for side in _SIDES[:: 1 if number % 2 == 0 else -1]:
                if not any(run["reason"] for run in runs[side]):
                    runs[side].append(_run(side, experiment, rounds, arguments))
        found["experiments"][name] = {"title": experiment.title, "paper": experiment.paper, "runs": runs}
        print(f"{name}: {', '.join(f'{side} {_shown(runs[side])}' for side in _SIDES)}", flush=True)
    _show(found)
    path = arguments.json or RESULTS / "published.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n")
    print(f"written: {path}")
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks published", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repository", type=Path, help="the checkout")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(EXPERIMENTS)}; default: all")
    parser.add_argument("--share", type=float, default=1.0, help="share of the rounds (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=2, help="runs of each side (default: %(default)s)")
    parser.add_argument(
        "--placement",
        choices=("inline", "packed", "isolated"),
        help="placement of all Lingua Franca programs (default: of each the faster one)",
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=120.0,
        help="seconds without a new round after which a run counts as failed (default: %(default)s)",
    )
    parser.add_argument("--json", type=Path, help="file for the result")
    return parser


def _command(side, experiment, directory, arguments):
    """The command that runs a side in `directory`, with the files that it needs there."""
    repository = arguments.repository.resolve()
    for file in repository.glob(experiment.files) if experiment.files else ():
        (directory / file.name).symlink_to(file)
    if side != "reactor":
        return [*(("-m", "rayshim") if side == "rayshim" else ()), str(repository / experiment.script)]
    program = repository / experiment.program
    if experiment.environment:
        text, count = re.subn(r'(?<=gym\.make\(")[^"]+', experiment.environment, program.read_text())
        if count != 1:
            raise SystemExit(f"{program} names {count} environments, not one")
        program = directory / program.name
        program.write_text(text)
    placement = arguments.placement or ("packed" if experiment.workers else "inline")
    where = ["--placement", placement]
    if placement == "packed" and experiment.workers:
        where += ["--workers", str(experiment.workers)]
    return ["-m", "reactor", str(program), *where]


class _Enough(Exception):
    """The run has printed its rounds, or prints none; ends its processes."""


def _run(side, experiment, rounds, arguments):
    """{"costs": seconds of each round, "reason": why there are none, or None}"""
    wanted = re.compile(experiment.line)
    with tempfile.TemporaryDirectory(prefix="published-") as directory:
        command = _command(side, experiment, Path(directory), arguments)
        pipe, out = Path(directory, "stdout"), Path(directory, "events")
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        environment = {
            **os.environ,
            **SAME_HASHES,
            **(RAY_ENVIRONMENT if side == "Ray" else {}),
            "PYTHONUNBUFFERED": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, (str(_SHIMS), os.environ.get("PYTHONPATH")))),
        }
        found = []  # (when it was read, the round's own figure or None)
        try:
            with Child(command, environment, out, cwd=directory, stdout=pipe) as child:
                for text in _lines(reader, child, arguments.patience):
                    if match := wanted.search(text):
                        found.append((time.perf_counter(), float(match[1]) if match.groups() else None))
                        if len(found) > rounds + _DISCARDED:
                            raise _Enough
                words = child.log().splitlines()
                raise _Enough
        except _Enough:
            pass
        finally:
            os.close(reader)
    if len(found) <= rounds + _DISCARDED:
        return {"costs": [], "reason": f"{len(found)} rounds, then: {words[-1] if words else 'nothing'}"}
    if found[0][1] is not None:
        return {"costs": [own for _, own in found[_DISCARDED:]], "reason": None}
    times = [when for when, _ in found[_DISCARDED:]]
    return {"costs": [(times[-1] - times[0]) / (len(times) - 1)], "reason": None}


def _lines(reader, child, patience):
    """The lines that a child writes to a pipe, until it ends or writes nothing for `patience` seconds."""
    partial = b""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        if not select.select([reader], [], [], 0.5)[0]:
            continue
        ended = child.ended is not None
        data = os.read(reader, 1 << 16)
        if not data:
            if ended:
                return
            time.sleep(0.05)  # nobody has the other end open yet, or any more
            continue
        until = time.monotonic() + patience
        *whole, partial = (partial + data).split(b"\n")
        for one in whole:
            yield one.decode(errors="replace")


def _cost(runs):
    """Median of the runs' medians in seconds, or None."""
    found = [statistics.median(run["costs"]) for run in runs if run["costs"]]
    return statistics.median(found) if found else None


def _shown(runs):
    cost = _cost(runs)
    return "failed" if cost is None else f"{cost * 1e3:,.2f}"


def cells(found):
    """A line of text for each experiment."""
    for experiment in found["experiments"].values():
        costs = {side: _cost(experiment["runs"][side]) for side in _SIDES}
        over = [f"{costs['Ray'] / costs[side]:.2f}" if costs["Ray"] and costs[side] else "" for side in _SIDES[1:]]
        yield [experiment["title"], *(_shown(experiment["runs"][side]) for side in _SIDES), *over, experiment["paper"]]


TITLES = (
    "",
    *(f"{side}, ms" for side in _SIDES),
    "rayshim over Ray",
    "reactor over Ray",
    "Lingua Franca over Ray, as printed",
)


def _show(found):
    console = Console()
    table = Table(title="the paper's own programs: time of a round")
    for number, title in enumerate(TITLES):
        table.add_column(title, justify="right" if number else "left")
    for line in cells(found):
        table.add_row(*line)
    console.print(table)
    for experiment in found["experiments"].values():
        for side, runs in experiment["runs"].items():
            for run in runs:
                if run["reason"]:
                    console.print(escape(f"{experiment['title']}, {side}: {run['reason']}"), highlight=False)


def markdown(found):
    """The table of a result's JSON."""
    lines = [f"| {' | '.join(TITLES)} |", "| --- |" + " ---: |" * (len(TITLES) - 1)]
    lines += [f"| {' | '.join(line)} |" for line in cells(found)]
    return "\n".join(lines) + f"\n\n{machine.in_words(found['machine'])}.\n"
