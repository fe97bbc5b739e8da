"""The session's folder, for libraries that write logs and results of their own: made when first asked for, gone with the session."""

import os
import shutil
import tempfile

from rayshim.session import session


def path():
    """The folder of the running session, the same in each of its processes."""
    made = _name(session.current.settings["driver"])
    if not os.path.isdir(made):
        _remove_stale()
        os.makedirs(os.path.join(made, "logs"), mode=0o700, exist_ok=True)
    return made


def remove(settings):
    """At the end of the session."""
    shutil.rmtree(_name(settings["driver"]), ignore_errors=True)


def _parent():
    return os.path.join(tempfile.gettempdir(), f"rayshim-{os.getuid()}")


def _name(driver):
    return os.path.join(_parent(), f"session_{driver}")


def _remove_stale():
    """Removes folders of sessions whose driver was killed."""
    parent = _parent()
    os.makedirs(parent, mode=0o700, exist_ok=True)
    for name in os.listdir(parent):
        pid = name.removeprefix("session_")
        if pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
            shutil.rmtree(os.path.join(parent, name), ignore_errors=True)
