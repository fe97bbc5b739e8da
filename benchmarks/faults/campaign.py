"""Random programs whose workers, zygote and driver are killed with signal 9. Each result is right or an exception that Ray's rules allow, nothing
hangs, and no process, file or memory is left."""

import argparse
import itertools
import json
import random
import time
from pathlib import Path

from benchmarks.faults import attack, report, syscalls
from benchmarks.faults.lag import Lag
from benchmarks.faults.oracle import judge
from benchmarks.faults.pace import Pace
from benchmarks.faults.processes import adopt_orphans
from benchmarks.faults.program import PLACEMENTS, program

_KEPT = Path(__file__).parents[1] / "results" / "faults"


def arguments_from(given):
    parser = argparse.ArgumentParser(prog="python -m benchmarks faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=10_000, metavar="N", help="kills to make (default 10000)")
    parser.add_argument("--minutes", type=float, metavar="M", help="start no program after this time")
    parser.add_argument(
        "--first",
        type=int,
        metavar="S",
        help="seed of the first program; the next one has the next seed (default: a random seed)",
    )
    parser.add_argument("--seed", type=int, metavar="S", help="run this one program, once")
    parser.add_argument(
        "--placement", choices=PLACEMENTS, help="placement of all programs (default: a random one for each program)"
    )
    parser.add_argument(
        "--stepping",
        action="store_true",
        help="lead each worker through a random number of machine instructions before it is killed",
    )
    parser.add_argument(
        "--syscalls",
        action="store_true",
        help="strike at each system call of each process instead; `--syscalls --help` describes the arguments",
    )
    parser.add_argument("--stop", action="store_true", help="end at the first wrong run")
    wanted = parser.parse_args(given)
    if wanted.kills < 1:
        parser.error(f"--kills {wanted.kills}: at least 1")
    return wanted


def seeds(wanted):
    """The seeds of the programs to run, without end unless it is one."""
    if wanted.seed is not None:
        return iter([wanted.seed])
    return itertools.count(wanted.first if wanted.first is not None else random.SystemRandom().randrange(10**6) * 1000)


def main(arguments=()):
    """Runs the campaign and shows the table; 1 if a run was wrong, else 0."""
    if "--syscalls" in arguments:
        return syscalls.main([argument for argument in arguments if argument != "--syscalls"])
    wanted = arguments_from(arguments)
    adopt_orphans()  # so that a process that outlives its run is seen here
    screen = report.Screen()
    numbers = seeds(wanted)
    first = next(numbers)
    screen.print(f"seed of the first program: {first}")
    totals = campaign(itertools.chain([first], numbers), wanted, screen)
    report.show(screen, totals)
    return 1 if totals.wrong else 0


def campaign(numbers, wanted, screen, module="benchmarks.faults.driver"):
    """The Totals of the programs of these seeds, up to the kills and minutes that are wanted, or to Ctrl-C."""
    totals = report.Totals()
    deadline = time.monotonic() + 60 * wanted.minutes if wanted.minutes else float("inf")
    with Lag() as lag:
        pace = Pace.measured()
        try:
            for seed in numbers:
                one = program(seed, wanted.placement, wanted.stepping)
                run = attack.run(one, lag, module, pace)
                verdict = judge(one, run)
                totals.add(one, run, verdict)
                kills = sum(totals.kills.values())
                screen.progress(f"{kills}/{wanted.kills} kills, {len(totals.wrong)} wrong")
                if verdict.wrong:
                    report.show_wrong(screen, one, run, verdict)
                    _keep(one, run)
                    if wanted.stop:
                        break
                if kills >= wanted.kills or time.monotonic() > deadline:
                    break
        except KeyboardInterrupt:
            screen.print("interrupted; so far:")
    return totals


def _keep(one, run):
    """The trace and the standard error of a wrong run."""
    _KEPT.mkdir(parents=True, exist_ok=True)
    (_KEPT / f"{one.seed}.trace").write_text("".join(json.dumps(event) + "\n" for event in run.events))
    (_KEPT / f"{one.seed}.err").write_text(run.stderr)
