"""Runs one program in a process of its own, kills what it is told to kill, and looks at what is left afterwards."""

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.faults import processes, trace, victims
from benchmarks.faults.lag import Lag
from benchmarks.faults.pace import Pace

BENCHMARKS = Path(__file__).resolve().parents[1]
HANG_SECONDS = 12.0  # without a step, until the driver is asked where it is, and ended
LEFT_SECONDS = 2.0  # after the driver's end, for its processes to be gone
START_SECONDS = 20.0


@dataclass
class Run:
    """The outcome of one run. `events`: the trace; `left`: sentences about what was left behind; `hung`: the step after which it hung, or None."""

    events: list = field(default_factory=list)
    stderr: str = ""
    status: int | None = None
    driver: int = 0
    hung: int | None = None
    left: list = field(default_factory=list)
    lag: Lag | None = None
    pace: Pace = field(default_factory=Pace)
    seconds: float = 0.0


def run(program, lag, module="benchmarks.faults.driver", pace=None):
    """Runs `program` in the driver `module`, under attack. Limits of time are those of a machine of this `pace`."""
    directory = Path(tempfile.mkdtemp(prefix="rayshim-faults-"))
    try:
        return _run_in(directory, program, lag, module, pace or Pace())
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _run_in(directory, program, lag, module, pace):
    mark = directory.name
    path = directory / "trace"
    steps, steps_in = os.pipe()
    environment = {
        **os.environ,
        **surroundings(directory, mark),
        trace.PATH: str(path),
        "RAY_IGNORE_UNHANDLED_ERRORS": "1",  # of failures that the program does not look at; those that it gets are checked
    }
    trace.begin(path)
    start = time.monotonic()
    with open(directory / "err", "wb") as err:
        driver = subprocess.Popen(
            [sys.executable, "-m", module, str(program.seed), program.placement, str(steps_in), *(["stepping"] if program.stepping else [])],
            cwd=directory / "cwd", stdin=subprocess.DEVNULL, stdout=err, stderr=err, env=environment, pass_fds=[steps_in],
            start_new_session=True,
        )  # fmt: skip
    os.close(steps_in)
    others = {*processes.children(os.getpid())} - {driver.pid}
    found = Run(driver=driver.pid, lag=lag, pace=pace)
    try:
        found.hung = _Attack(program, driver, steps, pace).run()
        found.status = driver.wait(HANG_SECONDS * pace.factor)
    except subprocess.TimeoutExpired:
        found.hung = -1
    finally:
        os.close(steps)
        if driver.poll() is None:
            driver.kill()
            driver.wait()
        found.left = left_of(mark, directory, lag, others, pace)
    found.events = trace.read(path) if path.exists() else []
    found.stderr = (directory / "err").read_text(errors="replace")
    found.seconds = time.monotonic() - start
    return found


def surroundings(directory, mark):
    """The variables of a driver that runs in `directory`/cwd. It imports this package, and rayshim as it is installed: not what lies beside this package."""
    for name in ("cwd", "tmp", "path"):
        (directory / name).mkdir()
    (directory / "path" / BENCHMARKS.name).symlink_to(BENCHMARKS)
    return {
        processes.MARK: mark,
        "TMPDIR": str(directory / "tmp"),
        "PYTHONPATH": os.pathsep.join([str(directory / "path"), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "PYTHONFAULTHANDLER": "1",
    }


class _Attack:
    """Follows the driver's steps and strikes at those that the program says."""

    def __init__(self, program, driver, steps, pace):
        self.driver, self.steps, self.pace = driver, steps, pace.factor
        self.strikes = [strike for strike in program.strikes if not strike.inside]

    def run(self):
        """The last step, if the driver hangs after it; None when it has ended."""
        step, deadline, told = -2, time.monotonic() + START_SECONDS * self.pace, False
        poll = select.poll()
        poll.register(self.steps, select.POLLIN)
        while True:
            if not poll.poll(100):
                if time.monotonic() < deadline:
                    continue
                if told:
                    return step
                # It writes on stderr who waits for whom.
                os.kill(self.driver.pid, signal.SIGUSR1)
                told, deadline = True, time.monotonic() + 2 * self.pace
                continue
            data = os.read(self.steps, 4)
            if not data:
                return None
            step = int.from_bytes(data, "little") - 1
            told, deadline = False, time.monotonic() + HANG_SECONDS * self.pace
            self.strike(step)

    def strike(self, step):
        start = time.perf_counter()
        while self.strikes and self.strikes[0].at <= step:
            strike = self.strikes.pop(0)
            while (rest := start + strike.delay - time.perf_counter()) > 0:
                if rest > 0.001:
                    time.sleep(rest / 2)
            victims.strike(strike, self.driver.pid)


def left_of(mark, directory, lag, others, pace):
    """What is left of the run; ends it. `others`: children of this process that are none of the run."""
    start, deadline = time.monotonic(), time.monotonic() + LEFT_SECONDS * pace.factor
    while left := _present(mark, others):
        if time.monotonic() > deadline + lag.between(start, time.monotonic()):
            break
        time.sleep(0.002)
    found = [f"process {processes.command(pid)}" for pid in left]
    for pid in left:
        _end(pid)
    for name in ("cwd", "tmp"):
        found += [f"file {path.relative_to(directory)}" for path in (directory / name).rglob("*")]
    return found


def _present(mark, others):
    """Processes of the run: they bear its mark, or they are orphans that came to this process, which adopts them."""
    orphans = []
    for pid in set(processes.children(os.getpid())) - others:
        if processes.alive(pid):
            orphans.append(pid)
        else:
            _reap(pid)
    return sorted({*orphans, *processes.marked(mark)})


def _reap(pid):
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass


def _end(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
