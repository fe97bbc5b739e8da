"""Finds the processes of a run, however they are related to it by now: the environment of all has a mark, and what hides it becomes a child of the
campaign's process, which adopts orphans. Without any other package, so that the campaign runs beside an installed rayshim."""

import ctypes
import os

MARK = "FAULTS_MARK"
_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """Makes this process the parent of all descendants whose own parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children(pid):
    """Pids in order of birth; none if `pid` is gone."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def marked(mark):
    """Pids of the live processes, this one aside, whose environment holds `mark`."""
    needle = f"{MARK}={mark}".encode()
    return [
        pid
        for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
        if pid != os.getpid() and needle in _read(pid, "environ").split(b"\0") and alive(pid)
    ]


def alive(pid):
    """Whether `pid` runs; a zombie, dead but not yet waited for, does not."""
    # The command name, in parentheses, may itself hold spaces and parentheses.
    return _read(pid, "stat").decode(errors="replace").rpartition(") ")[2][:1] not in ("Z", "X", "")


def command(pid):
    """The pid and the command line."""
    return f"{pid}: {' '.join(_read(pid, 'cmdline').decode(errors='replace').split(chr(0)))}"


def _read(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""
