"""Distribution policies against each other: python -m benchmarks policies [--ray] [--steps MS,...] [--hidden N,...] [--seconds S] [POLICY ...]

PPO on CartPole whose step costs a set time of the processor, with networks of a set size: environment steps a second, learning included, of each policy.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import gymnasium
from rich.console import Console
from rich.table import Table

from benchmarks import contest, machine, report
from benchmarks.machine import REPOSITORY
from benchmarks.sides import SIDES
from rayshim.fragments import POLICIES, deploy
from rayshim.fragments.algorithms.ppo import PPO
from rayshim.fragments.measuring import steps_per_second

RESULTS = Path(__file__).parent / "results"


class Costly(gymnasium.Wrapper):
    """Each step takes `seconds` of the processor's time more."""

    def __init__(self, environment, seconds):
        super().__init__(environment)
        self.seconds = seconds

    def step(self, action):
        end = time.thread_time() + self.seconds
        while time.thread_time() < end:
            pass
        return self.env.step(action)


class CostlyPPO(PPO):
    """PPO in environments whose step takes `step_ms` more."""

    step_ms = 0.0

    def make_environment(self):
        return Costly(super().make_environment(), self.step_ms / 1000)


def algorithm(step_ms, hidden):
    made = CostlyPPO(environments=8, horizon=64, hidden=hidden, rows=0)
    made.step_ms = step_ms
    return made


def arguments_from(argv):
    parser = argparse.ArgumentParser(prog="python -m benchmarks policies", description=__doc__.partition("\n\n")[2])
    parser.add_argument("policies", nargs="*", metavar="POLICY", help=f"{', '.join(POLICIES)} (default: all)")
    parser.add_argument("--steps", default="0.01,0.1,1,10", metavar="MS,...", help="milliseconds of a step")
    parser.add_argument("--hidden", default="64,256,1024", metavar="N,...", help="units of a hidden layer")
    parser.add_argument(
        "--seconds", type=float, default=3.0, metavar="S", help="for each figure (default: %(default)s)"
    )
    parser.add_argument(
        "--replicas", type=int, default=len(os.sched_getaffinity(0)), metavar="N", help="default: cores"
    )
    parser.add_argument("--ray", action="store_true", help="on real Ray, too")
    parser.add_argument("--side", choices=("rayshim", "ray"), help=argparse.SUPPRESS)  # of a process that measures
    arguments = parser.parse_args(argv)
    if unknown := set(arguments.policies) - set(POLICIES):
        parser.error(f"no policy is called {unknown.pop()!r}; there are {', '.join(POLICIES)}")
    try:
        arguments.cells = [
            (float(step), int(hidden)) for step in arguments.steps.split(",") for hidden in arguments.hidden.split(",")
        ]
    except ValueError as error:
        parser.error(f"--steps and --hidden are numbers with commas between them: {error}")
    return arguments


def measure(arguments):
    """In a process of a side: a line of JSON for each cell and policy."""
    import ray

    ray.init(num_cpus=max(arguments.replicas, 2), **SIDES[arguments.side].init)
    for step_ms, hidden in arguments.cells:
        for name in arguments.policies or POLICIES:
            replicas = {} if name == "one-device" else {"replicas": arguments.replicas}
            with deploy(algorithm(step_ms, hidden), name, ray=ray, **replicas) as deployment:
                speed = steps_per_second(deployment, arguments.seconds)
            print(
                json.dumps({"step_ms": step_ms, "hidden": hidden, "policy": name, "steps_per_second": speed}),
                flush=True,
            )


def figures(side, argv, tell=lambda: None):
    """The measured lines of a side, as dicts. RuntimeError: its process failed."""
    command = [sys.executable, *side.launcher, "-m", "benchmarks.policies", "--side", side.name, *argv]
    found = []
    with subprocess.Popen(
        command, cwd=REPOSITORY, env=side.process_environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        for line in process.stdout:
            if line.startswith('{"step_ms"'):
                found.append(json.loads(line))
                tell()
    if process.returncode:
        raise RuntimeError(f"the process on {side.title} ended with status {process.returncode}: {' '.join(command)}")
    return found


def winners(found):
    """{(step in ms, hidden): the name of the policy with the most steps a second}"""
    best = {}
    for one in found:
        best.setdefault((one["step_ms"], one["hidden"]), []).append((one["steps_per_second"], one["policy"]))
    return {cell: max(speeds)[1] for cell, speeds in best.items()}


def table(title, found):
    """Steps a second of each policy in each cell; that of the winner is bold, and its name stands in the last column."""
    names = list(dict.fromkeys(one["policy"] for one in found))
    speeds = {(one["step_ms"], one["hidden"], one["policy"]): one["steps_per_second"] for one in found}
    shown = Table("step, ms", "hidden", *names, "quickest", title=f"{title}: environment steps a second")
    for column in shown.columns[:-1]:
        column.justify = "right"
    for (step_ms, hidden), winner in winners(found).items():
        cells = [f"{speeds[step_ms, hidden, name]:,.0f}" for name in names]
        bold = [f"[bold]{cell}[/]" if name == winner else cell for name, cell in zip(names, cells)]
        shown.add_row(f"{step_ms:g}", str(hidden), *bold, winner)
    return shown


def main(argv=()):
    arguments = arguments_from(argv)
    if arguments.side:
        return measure(arguments)
    console = Console()
    if not console.is_terminal:
        console.width = report.FILE_WIDTH
    sides = [SIDES[name] for name in ("rayshim", "ray") if name == "rayshim" or arguments.ray]
    if reason := next(filter(None, (side.missing() for side in sides)), None):
        console.print(reason)
        return 1
    found = {"benchmark": "policies", "machine": machine.describe(), "replicas": arguments.replicas, "sides": {}}
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / "policies.json"
    with contest.shown() as progress:
        total = len(sides) * len(arguments.cells) * len(arguments.policies or POLICIES)
        bar = progress and progress.add_task("", total=total)
        for side in sides:
            tell = (lambda: progress.update(bar, advance=1)) if progress else lambda: None
            found["sides"][side.name] = figures(side, argv, tell)
            path.write_text(json.dumps(found, indent=1) + "\n")
            console.print(table(side.title, found["sides"][side.name]))
    console.print(machine.in_words(found["machine"]), style="dim", highlight=False)
    console.print(f"written: {path}", highlight=False)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
