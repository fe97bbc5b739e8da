"""The Python stacks of another process. On a signal, the process writes its stacks into an anonymous file in memory, which another process of the
same user reads through /proc. No file on a disk is used, and a process that hangs answers, too."""

import faulthandler
import os
import signal
import time

from reactor import _core

SIGNAL = signal.SIGRTMAX - 3
_NAME = "reactor-stacks"


def offer():
    """Makes this worker answer such requests. Called once, after the fork."""
    fd = _core.move_high(os.memfd_create(_NAME, os.MFD_CLOEXEC))
    faulthandler.register(SIGNAL, file=fd, all_threads=True, chain=False)


def ask(pid, seconds=2.0):
    """The stacks of process `pid` as text, most recent call first; None if the process does not answer in time."""
    path = _file(pid)  # if the program has closed it, the process writes nothing: the number may be another file's
    if path is None:
        return None
    try:
        before = os.stat(path).st_size
        os.kill(pid, SIGNAL)
        deadline, size = time.monotonic() + seconds, before
        while time.monotonic() < deadline:
            time.sleep(0.02)
            now = os.stat(path).st_size
            if now > before and now == size:  # it has stopped growing
                with open(path, "rb") as file:
                    file.seek(before)
                    return file.read().decode(errors="replace")
            size = now
    except OSError:
        pass  # it has ended
    return None


def _file(pid):
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{fd}"
            if os.readlink(path).startswith(f"/memfd:{_NAME}"):
                return path
    except OSError:
        pass
    return None
