"""Runs programs of lf-lang/lingua-franca's Python tests and compares their traces.

    git archive d5251718 test/Python | tar x -C TREE
    python -m reactor.tests.lf_conformance --checkout TREE/test/Python/src --programs LIST --placements inline,packed,isolated --runs 20

A program passes in a placement when each of its runs there ends with status 0 within the limit, and its trace (tag, reaction, ports
present and their values) is the same in every run, and the same as in the first placement. All runs but the first have random delays
before reactions. Where tags come from the physical clock (physical actions and connections, deadlines, tardiness, watchdogs, federates
that are started by hand) there is no one trace, and only the status counts: such programs are marked "physical", and those of them
whose traces differ are listed. `--quick` runs the other programs without waiting for the clock.
"""

import argparse
import csv
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from functools import partial

from reactor.__main__ import main
from reactor.lf import parsing
from reactor.lf.errors import LFError
from reactor.lf.files import Files

PHYSICAL = re.compile(
    r"physical action|~>|deadline|tardy|STAA|STP|maxwait|absent_after|@transient|watchdog|physical_elapsed|lf\.time\.physical"
)


@dataclass
class Outcome:
    """What came of one program in one placement. `state`: "same", "physical", "differs", "failed", "hung"; `detail`: what differed."""

    program: str
    placement: str
    state: str
    reactions: int = 0
    detail: str = ""

    @property
    def passed(self):
        return self.state in ("same", "physical")

    @property
    def equal(self):
        return self.passed and not self.detail


def measure(checkout, placements, runs, limit, quick, options, program):
    """The Outcomes of a program: `runs` runs in each placement."""
    path = os.path.join(checkout, program)
    try:
        physical = any(PHYSICAL.search(file.text) for file in Files(path).order)
    except LFError as error:
        return [Outcome(program, placement, "failed", detail=str(error)) for placement in placements]
    if quick and not physical:
        options = ("--fast", *options)
    outcomes, first = [], None
    for placement in placements:
        outcome, first = _in_placement(program, placement, path, physical, first, runs, limit, options)
        outcomes.append(outcome)
        print(f"{outcome.state:8}  {placement:8}  {program}  {outcome.detail}".rstrip(), file=sys.stderr, flush=True)
    return outcomes


def _in_placement(program, placement, path, physical, first, runs, limit, options):
    """(Outcome, the trace that others are compared with)"""
    outcome = Outcome(program, placement, "physical" if physical else "same")
    for run in range(runs):
        delays = ("--delays", str(run)) if run else ()
        where = f"run {run}"
        try:
            status, said, trace = run_once(path, ("--placement", placement, *delays, *options), limit)
        except TimeoutError as error:
            outcome.state, outcome.detail = "hung", f"{where}: {error}"
            break
        outcome.reactions = len(trace)
        if status != 0:
            outcome.state, outcome.detail = "failed", f"{where}: status {status}: {said[-300:]}"
            break
        first = trace if first is None else first
        if trace != first and not outcome.detail:
            outcome.detail = f"{where}: {_difference(first, trace)}"
            if not physical:
                outcome.state = "differs"
                break
    return outcome, first


def run_once(path, options, limit):
    """(status, what it printed, lines of its trace) of one run, in a fork of this process: imports and grammar are paid once."""
    with tempfile.TemporaryDirectory() as folder:
        trace, said = os.path.join(folder, "trace"), os.path.join(folder, "said")
        child = os.fork()
        if child == 0:
            _run([path, "--trace", trace, *options], folder, said)
        status = _wait(child, limit)
        with open(said) as file:
            printed = file.read()
        lines = []
        if os.path.exists(trace):
            with open(trace) as file:
                lines = file.read().splitlines()
        return status, printed, lines


def _run(arguments, folder, said):
    status = 70
    try:
        os.chdir(folder)
        output = os.open(said, os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.argv = ["reactor", *arguments]
        status = main(arguments)
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _wait(child, limit):
    until = time.monotonic() + limit
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise TimeoutError(f"not over within {limit} s")
        time.sleep(0.005)


def _difference(one, other):
    for k, (a, b) in enumerate(zip(one, other)):
        if a != b:
            return f"entry {k}: {a} | {b}"
    return f"{len(one)} entries and {len(other)}"


def _command():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", required=True, help="the folder test/Python/src of a checkout")
    parser.add_argument("--programs", required=True, help="a file with a path below it per line")
    parser.add_argument("--only", help="a regular expression that the path must match")
    parser.add_argument("--placements", default="inline", help="comma-separated")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--limit", type=float, default=60, help="seconds that one run may take")
    parser.add_argument(
        "--quick", action="store_true", help="run programs with --fast where tags do not come from the clock"
    )
    parser.add_argument("--csv", help="write the outcomes here")
    parser.add_argument("options", nargs="*", help="after --: further options of python -m reactor")
    given = parser.parse_args()
    with open(given.programs) as file:
        programs = [line.strip() for line in file if line.strip() and re.search(given.only or "", line)]

    # Programs that call pip or python mean those of this interpreter, as in an environment that is activated.
    os.environ["PATH"] = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", "")))
    placements = given.placements.split(",")
    measured = partial(
        measure, os.path.abspath(given.checkout), placements, given.runs, given.limit, given.quick, tuple(given.options)
    )
    parsing.prepare()
    with multiprocessing.get_context("fork").Pool(given.at_once) as pool:
        outcomes = [outcome for found in pool.imap(measured, programs) for outcome in found]
    for outcome in outcomes:
        if outcome.detail:
            print(f"{outcome.state:8}  {outcome.placement:8}  {outcome.program}: {outcome.detail}")
    for placement in placements:
        here = [outcome for outcome in outcomes if outcome.placement == placement]
        passed, equal = sum(o.passed for o in here), sum(o.equal for o in here)
        reactions = sum(outcome.reactions for outcome in here)
        print(
            f"{placement}: {passed} of {len(here)} programs passed, {equal} with equal traces over {given.runs} runs; {reactions} reactions in a run of each"
        )
    if given.csv:
        with open(given.csv, "w", newline="") as file:
            csv.writer(file).writerows((o.program, o.placement, o.state, o.equal, o.reactions) for o in outcomes)


if __name__ == "__main__":
    _command()
