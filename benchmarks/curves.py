"""Learning curves of one seeded asynchronous program, run again and again: python -m benchmarks curves [--runs N] [--updates N]

The program is examples/impala.py. On Ray each run has another curve; in timed order all have one. Makes docs/assets/curves.svg.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import contest, machine
from benchmarks.machine import REPOSITORY
from benchmarks.pace import RESULTS

PROGRAM = REPOSITORY / "examples" / "impala.py"
PICTURE = REPOSITORY / "docs" / "assets" / "curves.svg"
_LINE = re.compile(r"update (\d+): return ([\d.]+)")


def arguments_from(argv):
    parser = argparse.ArgumentParser(prog="python -m benchmarks curves", description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="runs of each side (default: %(default)s)")
    parser.add_argument("--updates", type=int, default=400, metavar="N", help="updates of a run (default: %(default)s)")
    return parser.parse_args(argv)


def curve(launcher, updates):
    """[(update, mean return), ...] that one run prints."""
    command = [sys.executable, *launcher, str(PROGRAM), str(updates)]
    done = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stderr[-2000:]}")
    return [(int(update), float(value)) for update, value in _LINE.findall(done.stdout)]


def draw(found, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, all_axes = pyplot.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="constrained")
    for axes, (name, title) in zip(all_axes, (("ray", "Ray"), ("timed", "rayshim, --ordering timed")), strict=True):
        curves = found[name]
        for one in curves:
            axes.plot(*zip(*one, strict=True), linewidth=1.5)
        count = len({json.dumps(one) for one in curves})
        axes.set_title(f"{title}: {len(curves)} runs, {count} {'curve' if count == 1 else 'curves'}", fontsize=10)
        axes.set_xlabel("updates")
        axes.grid(alpha=0.3)
    all_axes[0].set_ylabel("mean return of 20 episodes")
    figure.savefig(path)


def main(argv=()):
    arguments = arguments_from(argv)
    found = {"benchmark": "curves", "machine": machine.describe(), "ray": [], "timed": []}
    with contest.shown() as progress, tempfile.TemporaryDirectory(prefix="rayshim-curves-") as directory:
        timed = (
            "-m",
            "rayshim",
            "--seed",
            "1",
            "--ordering",
            "timed",
            "--timing",
            str(Path(directory, "impala.timing")),
        )
        bar = progress and progress.add_task("", total=2 * arguments.runs)
        for _ in range(arguments.runs):
            for name, launcher in (("ray", ()), ("timed", timed)):
                found[name].append(curve(launcher, arguments.updates))
                if progress:
                    progress.update(bar, advance=1)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "curves.json").write_text(json.dumps(found, indent=1) + "\n")
    draw(found, PICTURE)
    for name in ("ray", "timed"):
        last = [one[-1][1] for one in found[name]]
        print(
            f"{name}: {len({json.dumps(one) for one in found[name]})} curves in {len(last)} runs; last returns {last}"
        )
    print(f"written: {PICTURE}")
    return 0
