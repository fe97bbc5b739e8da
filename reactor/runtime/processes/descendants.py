"""Finds the processes that workers have started and left behind, through /proc, and ends them."""

import os
import signal
import time

from reactor.runtime.processes import process_stat

GRACE_SECONDS = (
    0.2  # between SIGTERM and SIGKILL: time to clean up, and for Python's resource trackers to remove what they track
)
_GIVE_UP_SECONDS = 5.0  # one that hangs in the kernel cannot be ended


def of(*roots):
    """Pids of the living descendants of the processes `roots`."""
    processes = _table()
    children = {}
    for pid, process in processes.items():
        children.setdefault(process.parent, []).append(pid)
    found, todo = [], list(roots)
    while todo:
        for pid in children.get(todo.pop(), ()):
            todo.append(pid)
            if processes[pid].lives:
                found.append(pid)
    return found


def in_session(leader):
    """Pids of the living processes of the (POSIX) session that process `leader` has begun, except itself."""
    return [pid for pid, process in _table().items() if process.session == leader and pid != leader and process.lives]


def end(find, reap=lambda: True):
    """Ends the processes that `find()` gives, until there are none: SIGTERM, then SIGKILL. `reap` is called before each look, for a
    process that is their parent; false: it has no children left."""
    begun = time.monotonic()
    known = set()
    while reap() and (pids := find()) and time.monotonic() < begun + _GIVE_UP_SECONDS:
        late = time.monotonic() > begun + GRACE_SECONDS
        for pid in pids:
            if late or pid not in known:
                known.add(pid)
                send(pid, signal.SIGKILL if late else signal.SIGTERM)
        time.sleep(0.005)


def send(pid, number):
    """Sends the signal, if there is somebody to have it."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass  # it has ended, or has become another user's


def look(pid):
    """Its ProcessStat, or None if it has ended and was waited for."""
    try:
        return process_stat.of_process(pid)
    except OSError:
        return None


def lives(pid):
    """Whether the process has not ended."""
    process = look(pid)
    return process is not None and process.lives


def _table():
    """{pid: ProcessStat} of all there are."""
    found = {int(name): look(name) for name in os.listdir("/proc") if name.isdigit()}
    return {pid: process for pid, process in found.items() if process}


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
