"""Which places in the code are the user's own."""

import os

from reactor import _core

from rayshim import session

_OURS = tuple(os.path.dirname(os.path.abspath(module.__file__)) + os.sep for module in (_core, session))


def is_users(file):
    """Whether the code in `file` (str, a path) is the user's: not rayshim's nor reactor's, whose tests count as users."""
    return not file.startswith(_OURS) or "/tests/" in file
