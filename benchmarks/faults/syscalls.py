"""Strikes the processes of a session at each of their system calls: kills them just before or just after the n-th call, or makes it fail, for every n.
Afterwards every call must end, a new task and a new actor must work, and nothing may be left behind."""

import argparse
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.faults import attack, processes, shim, trace
from benchmarks.faults.lag import Lag
from benchmarks.faults.pace import Pace
from benchmarks.faults.report import Screen

SCENARIOS = (
    "actor", "restarting", "async", "threaded", "task", "packed", "own interpreter", "task, own interpreter", "zygote", "start", "driver",
    "driver's start",
)  # fmt: skip
ACTIONS = {"before": shim.KILL_BEFORE, "after": shim.KILL_AFTER, "fail": shim.FAIL}
NEVER_KILLED = ("driver", "driver's start")  # its death ends the program
LIMIT_SECONDS = 15.0  # of one call, on a machine of normal pace
CASES = 60  # of one session; the next one begins where it ended
MANY = 1 << 30


@dataclass(frozen=True)
class Sweep:
    """Faults of one kind in one scenario, at every `step`-th call from `first` on."""

    scenario: str
    action: int
    first: int = 1
    step: int = 1
    names: tuple = shim.NAMES
    error: str | None = None
    cases: int = MANY

    def __str__(self):
        what = {shim.KILL_BEFORE: "killed before", shim.KILL_AFTER: "killed after", shim.FAIL: self.error or ""}[
            self.action
        ]
        return f"{self.scenario}: {what} {'its calls' if self.names == shim.NAMES else ', '.join(self.names)}"


@dataclass
class Outcome:
    sweep: Sweep
    cases: int = 0
    struck: int = 0
    seconds: float = 0.0
    functions: Counter = field(default_factory=Counter)  # at which calls
    wrong: list = field(default_factory=list)  # (n, function, sentence)


def sweeps(wanted):
    """The sweeps of a campaign."""
    found = []
    for scenario in SCENARIOS:
        if wanted.scenarios and scenario not in wanted.scenarios:
            continue
        for name, action in ACTIONS.items():
            if wanted.actions and name not in wanted.actions:
                continue
            names = tuple(wanted.functions) if wanted.functions else shim.NAMES
            if action != shim.FAIL and scenario not in NEVER_KILLED:
                found.append(Sweep(scenario, action, wanted.first, wanted.step, names, None, wanted.cases))
            if action == shim.FAIL:
                for function, errors in shim.ERRORS.items():
                    if function in names:
                        found += [
                            Sweep(scenario, action, wanted.first, wanted.step, (function,), error, wanted.cases)
                            for error in errors
                        ]
    return found


class Campaign:
    """Runs sweeps. `screen`: a report.Screen. Limits of time are those of a machine of this `pace`."""

    def __init__(self, screen, lag, pace, verbose=False, stop=False):
        self.screen, self.lag, self.pace, self.verbose, self.stop = screen, lag, pace, verbose, stop
        self.limit = LIMIT_SECONDS * pace.factor  # seconds that a call may take
        self.directory = Path(tempfile.mkdtemp(prefix="rayshim-syscalls-"))
        self.library = shim.build(self.directory)

    def close(self):
        shutil.rmtree(self.directory, ignore_errors=True)

    def run(self, sweep, deadline=float("inf")):
        """The Outcome of a sweep."""
        outcome = Outcome(sweep)
        begun, n, unstruck = time.monotonic(), sweep.first, 0
        while unstruck < 3 and outcome.cases < sweep.cases and time.monotonic() < deadline:
            session = _Session(self, sweep, n, min(CASES, sweep.cases - outcome.cases))
            n = session.run(outcome)
            unstruck = session.unstruck
            if self.stop and outcome.wrong:
                break
        outcome.seconds = time.monotonic() - begun
        return outcome


class _Session:
    """One process of benchmarks.faults.syscall_session, watched."""

    def __init__(self, campaign, sweep, first, cases):
        self.campaign, self.sweep, self.n, self.cases = campaign, sweep, first, cases
        self.unstruck = 0
        self.under_way = None

    def run(self, outcome):
        """Adds to the outcome; the n to go on with."""
        directory = Path(tempfile.mkdtemp(prefix="rayshim-syscalls-"))
        try:
            return self._run_in(directory, outcome)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def _run_in(self, directory, outcome):
        mark = directory.name
        sweep, campaign = self.sweep, self.campaign
        config = {
            "scenario": sweep.scenario, "action": sweep.action, "first": self.n, "step": sweep.step, "cases": self.cases, "names": sweep.names,
            "error": sweep.error, "limit": campaign.limit, "verbose": campaign.verbose,
        }  # fmt: skip
        variables = shim.environment(campaign.library, directory / "plan")
        report, given = os.pipe()
        others = {*processes.children(os.getpid())}
        with open(directory / "err", "wb") as err:
            driver = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.faults.syscall_session", json.dumps(config), str(given)],
                cwd=directory / "cwd", stdin=subprocess.DEVNULL, stdout=err, stderr=err, pass_fds=[given], start_new_session=True,
                env={**os.environ, **attack.surroundings(directory, mark), **variables, trace.PATH: str(directory / "trace")},
            )  # fmt: skip
        os.close(given)
        try:
            self._follow(driver, report, outcome)
        finally:
            os.close(report)
            if driver.poll() is None:
                driver.kill()
            driver.wait()
            left = attack.left_of(mark, directory, campaign.lag, others, campaign.pace)
        said = (directory / "err").read_text(errors="replace").strip()
        if driver.returncode != 0 and self.under_way is None and not self.hung:
            self._wrong(outcome, None, f"the driver ended with status {driver.returncode}: {said[-600:]}")
            self.unstruck = 3
        for what in left:
            self._wrong(outcome, None, f"left behind: {what}")
        if self.under_way is not None:
            self._wrong(
                outcome,
                None,
                f"{'hung' if self.hung else f'the driver ended with status {driver.returncode}'}: {said[-1500:]}",
            )
            outcome.cases += 1
            return self.under_way + sweep.step
        return self.n

    hung = False

    def _follow(self, driver, report, outcome):
        poll = select.poll()
        poll.register(report, select.POLLIN)
        data, patience = b"", 6 * self.campaign.limit
        deadline = time.monotonic() + patience
        while True:
            if not poll.poll(200):
                if time.monotonic() > deadline:
                    self.hung = True
                    os.kill(driver.pid, signal.SIGUSR1)
                    time.sleep(1.0)
                    self._wrong(outcome, None, "hung: no case ended in time")
                    return
                continue
            more = os.read(report, 1 << 16)
            if not more:
                return
            deadline = time.monotonic() + patience
            *lines, data = (data + more).split(b"\n")
            for line in lines:
                self._note(outcome, *json.loads(line))

    def _note(self, outcome, kind, *facts):
        if kind == "begin":
            (self.under_way,) = facts
        elif kind == "end":
            n, function, calls, wrong = facts
            self.campaign.screen.progress(f"{self.sweep}: n={n} of about {calls}")
            self.under_way = None
            self.n = n + self.sweep.step
            self.unstruck = 0 if function else self.unstruck + 1
            outcome.cases += 1
            if function:
                outcome.struck += 1
                outcome.functions[function] += 1
            for sentence in wrong:
                self._wrong(outcome, function, sentence, n)
        elif kind == "closed":
            for sentence in facts[0]:
                self._wrong(outcome, None, sentence)

    def _wrong(self, outcome, function, sentence, n=None):
        n = n if n is not None else self.under_way if self.under_way is not None else self.n
        outcome.wrong.append((n, function, sentence))
        self.campaign.screen.print(f"WRONG {outcome.sweep}, n={n}{f' ({function})' if function else ''}: {sentence}")


def arguments_from(given):
    parser = argparse.ArgumentParser(prog="python -m benchmarks faults --syscalls", description=__doc__)
    parser.add_argument(
        "--scenarios", metavar="NAME", nargs="+", choices=SCENARIOS, help=f"of: {'; '.join(SCENARIOS)} (default: all)"
    )
    parser.add_argument(
        "--actions", nargs="+", choices=ACTIONS, help="kill before the call, kill after it, let it fail (default: all)"
    )
    parser.add_argument(
        "--functions", nargs="+", choices=shim.NAMES, metavar="NAME", help=f"of: {', '.join(shim.NAMES)} (default: all)"
    )
    parser.add_argument("--first", type=int, default=1, metavar="N", help="the first call to strike at (default 1)")
    parser.add_argument("--step", type=int, default=1, metavar="N", help="strike at every N-th call (default 1: all)")
    parser.add_argument(
        "--cases", type=int, default=MANY, metavar="N", help="at most so many of each kind of fault in each scenario"
    )
    parser.add_argument("--minutes", type=float, metavar="M", help="end after this time")
    parser.add_argument("--stop", action="store_true", help="end a scenario at the first wrong case")
    parser.add_argument(
        "--verbose", action="store_true", help="show the stack at each strike on the driver's standard error"
    )
    return parser.parse_args(given)


def main(arguments=()):
    """Runs the campaign and shows a table; 1 if anything was wrong, else 0."""
    wanted = arguments_from(arguments)
    processes.adopt_orphans()
    outcomes = []
    deadline = time.monotonic() + 60 * wanted.minutes if wanted.minutes else float("inf")
    screen = Screen()
    show = screen.print
    with Lag() as lag:
        pace = Pace.measured()
        campaign = Campaign(screen, lag, pace, wanted.verbose, wanted.stop)
        show(
            f"starts of processes take {pace.factor:.1f} times their usual time; a call may take {campaign.limit:.0f} s"
        )
        try:
            for sweep in sweeps(wanted):
                if time.monotonic() > deadline:
                    show(f"out of time before {sweep}")
                    break
                outcome = campaign.run(sweep, deadline)
                outcomes.append(outcome)
                if outcome.struck or outcome.wrong:
                    show(f"{sweep}: {outcome.struck} struck, {len(outcome.wrong)} wrong, {outcome.seconds:.0f} s")
        except KeyboardInterrupt:
            show("interrupted; so far:")
        finally:
            campaign.close()
    return summary(outcomes, show)


def summary(outcomes, show):
    struck, functions, wrong = Counter(), Counter(), 0
    for outcome in outcomes:
        struck[outcome.sweep.scenario, "failed" if outcome.sweep.action == shim.FAIL else "killed"] += outcome.struck
        functions += outcome.functions
        wrong += len(outcome.wrong)
    show("")
    for (scenario, what), count in struck.items():
        show(f"  {scenario:24}{what:8}{count:8,}")
    show(f"  at: {', '.join(f'{name} {count}' for name, count in functions.most_common())}")
    show(
        f"  cases struck: {sum(struck.values()):,}; wrong: {wrong}; {sum(outcome.seconds for outcome in outcomes) / 60:.1f} minutes"
    )
    return 1 if wrong else 0
