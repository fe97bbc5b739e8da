"""The folder of this user in a temporary directory, in which sessions have their sockets and files. Nobody else can reach it, see
reactor.runtime.messages.private_folder."""

import os

from reactor.runtime.messages.private_folder import NotPrivate

_INITIAL = 0xEFFFFFFC  # the number of the machine's own namespace of process ids, in Linux


def folder_in(directory):
    """The path of this user's folder in a temporary directory."""
    return os.path.join(os.path.abspath(directory), f"rayshim-{os.geteuid()}")


def refusal(action, error):
    """The text of an error: the folder is not used, because of NotPrivate or another OSError."""
    if isinstance(error, NotPrivate):
        remedy = (
            "Remove it, or have its owner remove it (if it is yours, `chmod 700` is enough), or set RAY_TMPDIR to a directory in which only you can "
            "create files"
        )
    else:
        remedy = "Set RAY_TMPDIR to a directory in which you can create files"
    return f"{action}: {error}. {remedy}"


def namespace():
    """A suffix of names. It tells those of containers apart, which may share a temporary directory but not the numbers of processes."""
    number = os.stat("/proc/self/ns/pid").st_ino
    return "" if number == _INITIAL else f"_{number}"
