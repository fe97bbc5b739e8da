"""`rayshim compare`: one program on real Ray and on rayshim, measured from outside."""

import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from reactor.printable import printable

from rayshim.cli.compare import busy, costs
from rayshim.cli.compare.figures import FIGURES, table
from rayshim.cli.compare.output import first_difference

# Turn off authentication, usage statistics and log deduplication, which cost Ray time and do not exist in rayshim. The accelerator
# variable only silences a warning.
RAY_ENVIRONMENT = {
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
# The output may depend on the order of sets, so both sides get the same hash seed. Everything else stays as users have it.
SAME_HASHES = {"PYTHONHASHSEED": "0"}

_LAUNCH = Path(__file__).with_name("launch.py")
_TITLES = {"ray": "Ray", "rayshim": "rayshim"}
_CALLS = [
    ("calls a second after start-up", "calls_per_second", lambda value: f"{value:,.0f}", True),
    ("share of calls that followed a pattern", "in_patterns", lambda value: f"{value:.1%}", True),
]


def run(side, program, timeout):
    """Runs a program (its path and arguments, or "-m", a module's name and arguments) on "ray" or "rayshim".

    Returns a dict with the keys of the figures, and `calls`, `printed`, `reason` (None if it succeeded), `log`, `left_behind`,
    and the shares of `Watch.others`.
    """
    calls = {"calls": 0, "in_patterns": 0}

    def listen(event):
        if event["event"] == "session":
            for name in calls:
                calls[name] += event[name]

    environment = {**SAME_HASHES, **os.environ, **(RAY_ENVIRONMENT if side == "ray" else {})}
    with tempfile.TemporaryDirectory(prefix="rayshim-compare-") as directory:
        out, printed = Path(directory, "events.jsonl"), Path(directory, "stdout")
        command = [str(_LAUNCH), side, str(out), *program]
        cost = costs.run(command, environment, out, timeout, listen, stdout=printed)
        text = printed.read_text(errors="replace")
    return {
        "wall": cost.wall,
        "start_up": cost.ready,
        "cpu": cost.cpu,
        "peak_memory": cost.peak_memory,
        "calls": calls["calls"],
        "in_patterns": calls["in_patterns"] / calls["calls"] if calls["calls"] else None,
        "printed": text,
        "reason": cost.reason,
        "log": cost.log,
        "left_behind": cost.left_behind,
        **cost.others,
    }


def compare(program, timeout, console):
    """Runs the program on both, prints the table and the differences to a rich Console or a PlainConsole, and returns the exit status.

    0: both succeeded and printed the same; or, without real Ray, rayshim succeeded. 1: otherwise.
    """
    sides = ["ray", "rayshim"]
    if find_spec("ray") is None:
        sides.remove("ray")
        console.print(
            f"real Ray is not installed for {sys.executable}; running only on rayshim (pip install ray)", style="yellow"
        )
    runs = {}
    for side in sides:
        with console.status(f"running on {_TITLES[side]}"):
            runs[side] = run(side, program, timeout)
    # The program is the same, so the calls are.
    calls = runs["rayshim"]["calls"]
    for done in runs.values():
        if calls and done["start_up"] is not None and not done["reason"]:
            done["calls_per_second"] = calls / max(done["wall"] - done["start_up"], 1e-9)
    if (warning := busy.warning(list(runs.values()))) is not None:
        console.print(warning, style="yellow", markup=False, highlight=False)
    titles = [_TITLES[side] for side in sides]
    console.print(table(titles, list(runs.values()), [*FIGURES, *_CALLS], " ".join(program)))
    return max([_tell_failures(runs, console), _tell_difference(runs, console)])


def _tell_failures(runs, console):
    for side, done in runs.items():
        if done["left_behind"]:
            console.print(
                f"{_TITLES[side]} left {done['left_behind']} processes behind, which were killed", style="yellow"
            )
        if done["reason"]:
            console.print(f"on {_TITLES[side]}: {printable(done['reason'])}", style="bold red", markup=False)
            console.print(
                "\n".join(map(printable, done["log"].splitlines()[-20:])), style="dim", markup=False, highlight=False
            )
    return int(any(done["reason"] for done in runs.values()))


def _tell_difference(runs, console):
    if len(runs) < 2:
        return 0
    difference = first_difference(*(done["printed"] for done in runs.values()))
    if difference is None:
        lines = len(runs["rayshim"]["printed"].splitlines())
        console.print(f"both printed the same {lines} lines" if lines else "both printed nothing", style="green")
        return 0
    where, *lines = difference
    console.print(f"THE OUTPUT DIFFERS, first in {where}:", style="bold red", markup=False)
    for side, line in zip(runs, lines, strict=True):
        console.print(
            f"  {_TITLES[side]:7}  {'(nothing)' if line is None else printable(line)}", markup=False, highlight=False
        )
    return 1
