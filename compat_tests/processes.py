"""Find the processes that a test started, however they are related to it by now.

A child of a dead parent belongs to init, so a walk over parents misses it. A variable in the environment is inherited
by every descendant and stays readable in /proc, so that is what marks a test's processes.
"""

import os
import signal
import time

MARK = "COMPAT_TESTS_MARK"


def marked(mark):
    """Pids of the live processes, this one aside, whose environment holds `mark`."""
    needle = f"{MARK}={mark}".encode()
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
            if pid != os.getpid() and needle in _environment(pid) and alive(pid)]


def alive(pid):
    """Whether `pid` runs; a zombie, dead but not yet waited for, does not."""
    return _state(pid) not in ("Z", "X", "")


def end(pids):
    """Kill `pids`, so that what one test left does not disturb the next, and show them."""
    for pid in pids:
        print(f"left behind, now killed: {describe([pid])}")
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def describe(pids):
    return "; ".join(f"{pid}: {' '.join(_read(pid, 'cmdline').decode(errors='replace').split(chr(0)))}" for pid in pids)


def wait_until(condition, seconds=20.0, because=""):
    """Return the first true value of `condition()`; fail once `seconds` have passed without one."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {because or condition}")
        time.sleep(0.005)
    return value


def _environment(pid):
    return _read(pid, "environ").split(bytes(1))


def _state(pid):
    # The command name, in parentheses, may itself hold spaces and parentheses.
    return _read(pid, "stat").decode(errors="replace").rpartition(") ")[2][:1]


def _read(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""
