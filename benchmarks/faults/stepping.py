"""Leads a process to a random machine instruction before it is killed (ptrace, single steps).

A kill at a random time hits what takes long: system calls, page faults. Between two stores it hardly ever comes. Counted in instructions,
every place between two of them is as likely as any other.
"""

import contextlib
import ctypes
import os
import time

_SEIZE, _INTERRUPT, _SINGLESTEP = 0x4206, 0x4207, 9
_ALL_KINDS = 0x40000000  # __WALL: threads, too
ASLEEP_SECONDS = 0.003  # after which a step may be a system call that waits

_ptrace = ctypes.CDLL(None, use_errno=True).ptrace
_ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
_ptrace.restype = ctypes.c_long


@contextlib.contextmanager
def led(pid, steps):
    """Before the body the main thread of `pid` makes `steps` steps, or those to where it sleeps; the body kills it."""
    attached = steps and _ptrace(_SEIZE, pid, None, None) == 0  # else it is gone, or this is not allowed
    if attached:
        _lead(pid, steps)
    try:
        yield
    finally:
        if attached:  # its parent hears of its end when the tracer has; a last stop may be told before
            with contextlib.suppress(ChildProcessError):
                while os.WIFSTOPPED(os.waitpid(pid, _ALL_KINDS)[1]):
                    pass


def _lead(pid, steps):
    if _ptrace(_INTERRUPT, pid, None, None) != 0 or not _stopped(pid):
        return
    for _ in range(steps):
        if _ptrace(_SINGLESTEP, pid, None, None) != 0 or not _stopped(pid):
            return


def _stopped(pid):
    look = time.monotonic() + ASLEEP_SECONDS
    while True:
        try:
            found, status = os.waitpid(pid, os.WNOHANG | _ALL_KINDS)
        except ChildProcessError:
            return False
        if found:
            return os.WIFSTOPPED(status)
        if time.monotonic() > look:
            if not _runs(pid):
                return False
            look = time.monotonic() + ASLEEP_SECONDS


def _runs(pid):
    """Whether the process has a core or waits for one."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in "Rt"
    except OSError:
        return False
