"""The session's folder, for libraries that write logs and results of their own. It is created at its first use, and removed with the session."""

import atexit
import os
import re

from rayshim.errors.exceptions import RaySystemError
from rayshim.session import places, session


def path():
    """The folder of the running session, the same in each of its processes. RaySystemError: another user could change what is in it."""
    return _create(session.current.settings.folder)


def of_this_process():
    """The folder of the running session; before `init`, of the one that this process is about to start."""
    return path() if session.current is not None else _create(name(os.getpid()))


def name(pid):
    """The name of the folder of a session that this process starts under the number `pid`; its other processes may have another TMPDIR."""
    return os.path.join(parent_in(os.environ), f"session_{pid}{places.namespace()}")


def _create(directory):
    from reactor.runtime.messages import private_folder

    parent, name = os.path.split(directory)
    try:
        with private_folder.opened(parent, create=True, by_path=True) as fd:
            if not os.path.isdir(f"/proc/self/fd/{fd}/{name}"):
                _remove_stale(fd)
                private_folder.make(os.path.join(directory, "logs"))
    except OSError as error:
        raise RaySystemError(places.refusal("The session has no folder for its files", error)) from None
    return directory


def remove(directory):
    """Removes the folder of a session, and this user's folder around it if nothing else is in it."""
    if os.path.lexists(directory):
        from reactor.runtime.messages import private_folder

        parent, name = os.path.split(directory)
        try:
            with private_folder.opened(parent) as fd:
                _remove(fd, name)
        except OSError:
            return  # it is not this user's
        private_folder.remove_if_empty(parent)


def _remove(fd, name):
    import shutil

    shutil.rmtree(f"/proc/self/fd/{fd}/{name}", ignore_errors=True)


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


def parent_in(variables):
    """The folder with the folders of sessions, for a process with these environment variables."""
    return places.folder_in(variables.get("RAY_TMPDIR") or variables.get("TMPDIR") or "/tmp")


def _remove_stale(fd):
    """Removes folders of sessions of which all processes were killed at once."""
    for one in os.listdir(fd):
        found = re.fullmatch(rf"session_(\d+){places.namespace()}", one)
        if found and not os.path.exists(f"/proc/{found[1]}"):
            _remove(fd, one)
