"""The session's folder, for libraries that write logs and results of their own. It is created at its first use, and removed with the session."""

import os
import re

from rayshim.session import session


def path():
    """The folder of the running session, the same in each of its processes."""
    return _create_folder(session.current.settings["session_pid"])


def of_this_process():
    """The folder of the running session; before `init`, of the one that this process is about to start."""
    return path() if session.current is not None else _create_folder(os.getpid())


def _create_folder(pid):
    directory = _name(pid)
    if not os.path.isdir(directory):
        _remove_stale()
        os.makedirs(os.path.join(directory, "logs"), mode=0o700, exist_ok=True)
    return directory


def remove(pid):
    """At the end of the session that the process with this number started."""
    if os.path.isdir(_name(pid)):
        import shutil

        shutil.rmtree(_name(pid), ignore_errors=True)


def _parent():
    return os.path.join(os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or "/tmp", f"rayshim-{os.getuid()}")


_INITIAL = 0xEFFFFFFC  # the number of the machine's own namespace of process ids, in Linux


def _namespace():
    """What tells folders of containers apart, which may share this directory but not the numbers of processes."""
    number = os.stat("/proc/self/ns/pid").st_ino
    return "" if number == _INITIAL else f"_{number}"


def _name(pid):
    return os.path.join(_parent(), f"session_{pid}{_namespace()}")


def _remove_stale():
    """Removes folders of sessions of which all processes were killed at once."""
    os.makedirs(_parent(), mode=0o700, exist_ok=True)
    for name in os.listdir(_parent()):
        found = re.fullmatch(rf"session_(\d+){_namespace()}", name)
        if found and not os.path.exists(f"/proc/{found[1]}"):
            remove(found[1])
