"""Kills the processes of a run: the zygote is the driver's child, the workers are the zygote's."""

import contextlib
import os
import signal
import time

from benchmarks.faults import stepping, trace
from benchmarks.faults.processes import children

BIRTH_SECONDS = 0.005  # that a strike waits for somebody to be there


def chosen(strike, driver):
    """The pids that a strike is meant for, as they are now."""
    if strike.whom == "driver":
        return [driver]
    zygotes = children(driver)
    if strike.whom == "zygote":
        return zygotes[:1]
    workers = [worker for zygote in zygotes[:1] for worker in children(zygote)]
    if not workers or strike.whom == "all":
        return workers
    index = {"newest": -1, "oldest": 0}.get(strike.whom, int(strike.pick * len(workers)))
    return [workers[index]]


def title(pid):
    """What `ps` shows of a worker: "ray::Class", "ray::Class.method", "ray::IDLE" or "ray::task"; "" of one just born."""
    try:
        with open(f"/proc/{pid}/cmdline") as file:
            shown = file.read().split("\0")[0].strip()
    except OSError:
        return ""
    return shown if shown.startswith("ray::") else ""


def strike(strike, driver):
    """Kills with signal 9 and tells the trace of it first; returns how many were killed."""
    deadline = time.monotonic() + BIRTH_SECONDS
    while not (pids := chosen(strike, driver)) and time.monotonic() < deadline:
        time.sleep(0.0002)
    for pid in pids:
        trace.write("strike", pid, strike.whom, title(pid))
        with contextlib.suppress(ProcessLookupError), stepping.led(pid, strike.steps):
            os.kill(pid, signal.SIGKILL)
    return len(pids)
