"""The session's folder, for libraries that write logs and results of their own. It is created at its first use, and removed with the session."""

import atexit
import os
import re

from rayshim.session import session


def path():
    """The folder of the running session, the same in each of its processes."""
    return _create(session.current.settings["folder"])


def of_this_process():
    """The folder of the running session; before `init`, of the one that this process is about to start."""
    return path() if session.current is not None else _create(name(os.getpid()))


def name(pid):
    """The name of the folder of a session that this process starts under the number `pid`; its other processes may have another TMPDIR."""
    return os.path.join(_parent(), f"session_{pid}{_namespace()}")


def _create(directory):
    if not os.path.isdir(directory):
        _remove_stale(os.path.dirname(directory))
        os.makedirs(os.path.join(directory, "logs"), mode=0o700, exist_ok=True)
    return directory


def remove(directory):
    if os.path.isdir(directory):
        import shutil

        shutil.rmtree(directory, ignore_errors=True)


def end(directory, exiting):
    """At the end of the session that this process has started: removes its folder. If this process has gone there, as Tune's trainables do, and is not
    `exiting`, the folder stays until it does."""
    if not exiting and is_used(directory, os.getpid()):
        atexit.register(remove, directory)
    else:
        remove(directory)


def is_used(directory, pid):
    """Whether the current directory of that process is in `directory`."""
    try:
        current = os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return False  # it has ended
    return os.path.commonpath((current, os.path.realpath(directory))) == os.path.realpath(directory)


def _parent():
    return os.path.join(os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or "/tmp", f"rayshim-{os.getuid()}")


_INITIAL = 0xEFFFFFFC  # the number of the machine's own namespace of process ids, in Linux


def _namespace():
    """What tells folders of containers apart, which may share this directory but not the numbers of processes."""
    number = os.stat("/proc/self/ns/pid").st_ino
    return "" if number == _INITIAL else f"_{number}"


def _remove_stale(parent):
    """Removes folders of sessions of which all processes were killed at once."""
    os.makedirs(parent, mode=0o700, exist_ok=True)
    for one in os.listdir(parent):
        found = re.fullmatch(rf"session_(\d+){_namespace()}", one)
        if found and not os.path.exists(f"/proc/{found[1]}"):
            remove(os.path.join(parent, one))
