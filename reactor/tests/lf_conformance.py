"""Runs programs of lf-lang/lingua-franca's Python tests and compares their traces.

    git archive d5251718 test/Python | tar x -C TREE
    python -m reactor.tests.lf_conformance --checkout TREE/test/Python/src --programs LIST --runs 3

A program passes when each of its runs ends with status 0 within the limit, and its trace (tag, reaction, ports present and their
values) is the same in every run and every placement asked for. Where tags come from the physical clock (physical actions and
connections, deadlines, tardiness, watchdogs) there is no one trace, and only the status counts: such programs are marked "physical".
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
from collections import Counter
from dataclasses import dataclass
from functools import partial

from reactor.__main__ import main
from reactor.lf import parsing
from reactor.lf.errors import LFError
from reactor.lf.files import Files

PHYSICAL = re.compile(r"physical action|~>|deadline|tardy|STAA|STP|watchdog|physical_elapsed|lf\.time\.physical")


@dataclass
class Outcome:
    """What came of one program. `state`: "same", "physical", "differs", "failed", "hung"."""

    program: str
    state: str
    reactions: int = 0
    detail: str = ""

    @property
    def passed(self):
        return self.state in ("same", "physical")


def measure(checkout, program, placements=("inline",), runs=2, limit=60, options=()):
    """The Outcome of a program: `runs` runs in each placement, all but the first with random delays."""
    path = os.path.join(checkout, program)
    try:
        physical = any(PHYSICAL.search(file.text) for file in Files(path).order)
    except LFError as error:
        return Outcome(program, "failed", detail=str(error))
    traces = []
    for placement in placements:
        for run in range(runs):
            delays = ("--delays", str(run)) if run else ()
            try:
                status, said, trace = run_once(path, ("--placement", placement, *delays, *options), limit)
            except TimeoutError as error:
                return Outcome(program, "hung", detail=f"{placement}, run {run}: {error}")
            if status != 0:
                return Outcome(program, "failed", len(trace), f"{placement}, run {run}: status {status}: {said[-300:]}")
            traces.append((placement, run, trace))
            if physical:
                continue
            if trace != traces[0][2]:
                return Outcome(
                    program, "differs", len(trace), f"{placement}, run {run}: {_difference(traces[0][2], trace)}"
                )
    return Outcome(program, "physical" if physical else "same", len(traces[0][2]))


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
    parser.add_argument("--limit", type=float, default=60)
    parser.add_argument("--csv", help="write the outcomes here")
    parser.add_argument("options", nargs="*", help="after --: further options of python -m reactor")
    given = parser.parse_args()
    with open(given.programs) as file:
        programs = [line.strip() for line in file if line.strip() and re.search(given.only or "", line)]

    how = {
        "placements": given.placements.split(","),
        "runs": given.runs,
        "limit": given.limit,
        "options": given.options,
    }
    parsing.prepare()
    with multiprocessing.get_context("fork").Pool(given.at_once) as pool:
        outcomes = pool.map(partial(measure, given.checkout, **how), programs, chunksize=1)
    for outcome in outcomes:
        if not outcome.passed:
            print(f"{outcome.state:8}  {outcome.program}: {outcome.detail}")
    print(", ".join(f"{count} {state}" for state, count in Counter(o.state for o in outcomes).items()))
    print(
        f"{sum(o.passed for o in outcomes)} of {len(outcomes)} passed; {sum(o.reactions for o in outcomes)} reactions traced"
    )
    if given.csv:
        with open(given.csv, "w", newline="") as file:
            csv.writer(file).writerows((o.program, o.state, o.reactions) for o in outcomes)


if __name__ == "__main__":
    _command()
