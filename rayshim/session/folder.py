"""The session's folder, for libraries that write logs and results of their own: made when first asked for, gone with the session."""

import os

from rayshim.session import session


def path():
    """The folder of the running session, the same in each of its processes."""
    made = _name(session.current.settings["driver"])
    if not os.path.isdir(made):
        _remove_stale()
        os.makedirs(os.path.join(made, "logs"), mode=0o700, exist_ok=True)
    return made


def remove(driver):
    """At the end of the session whose driver has this process number."""
    if os.path.isdir(_name(driver)):
        import shutil

        shutil.rmtree(_name(driver), ignore_errors=True)


def _parent():
    return os.path.join(os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or "/tmp", f"rayshim-{os.getuid()}")


def _name(driver):
    return os.path.join(_parent(), f"session_{driver}")


def _remove_stale():
    """Removes folders of sessions of which all processes were killed at once."""
    os.makedirs(_parent(), mode=0o700, exist_ok=True)
    for name in os.listdir(_parent()):
        driver = name.removeprefix("session_")
        if driver.isdigit() and not os.path.exists(f"/proc/{driver}"):
            remove(driver)
