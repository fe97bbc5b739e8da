"""Finds the processes that workers have started and left behind, through /proc, and ends them."""

import os
import signal
import time

GRACE_SECONDS = (
    0.2  # between SIGTERM and SIGKILL: time to clean up, and for Python's resource trackers to remove what they track
)
_GIVE_UP_SECONDS = 5.0  # one that hangs in the kernel cannot be ended


def of(root):
    """Pids of the living descendants of process `root`."""
    children = {}
    for pid, (state, parent, _) in _table().items():
        children.setdefault(parent, []).append((pid, state))
    found, look = [], [root]
    while look:
        for pid, state in children.get(look.pop(), ()):
            look.append(pid)
            if state not in "ZX":
                found.append(pid)
    return found


def in_session(leader):
    """Pids of the living processes of the (POSIX) session that process `leader` has begun, itself aside."""
    return [
        pid
        for pid, (state, _, session) in _table().items()
        if session == leader and pid != leader and state not in "ZX"
    ]


def end(find, reap=lambda: True):
    """Ends the processes that `find()` gives, until there are none: SIGTERM, then SIGKILL. `reap` is called before each look, for a
    process that is their parent; false: it has no children left."""
    begun = time.monotonic()
    told = set()
    while reap() and (pids := find()) and time.monotonic() < begun + _GIVE_UP_SECONDS:
        late = time.monotonic() > begun + GRACE_SECONDS
        for pid in pids:
            if late or pid not in told:
                told.add(pid)
                try:
                    os.kill(pid, signal.SIGKILL if late else signal.SIGTERM)
                except (ProcessLookupError, PermissionError):
                    pass  # it has ended, or has become another user's
        time.sleep(0.005)


def _table():
    """{pid: (state, pid of its parent, its session)}"""
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            table[int(name)] = fields[0], int(fields[1]), int(fields[3])
    return table


def end_own():
    """Ends all descendants of this process, which their orphans have become children of."""

    def reap():
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            return True
        except ChildProcessError:
            return False

    end(lambda: of(os.getpid()), reap)
