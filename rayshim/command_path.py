"""Removes the current directory from `sys.path` under `python -m rayshim`, so that rayshim imports none of its modules from there.

It is imported before all other modules. The interpreter puts the current directory first on `sys.path` for `-m`, but not for
`python script.py`. rayshim.cli.script later sets that entry for the program."""

import os
import sys


def _is_our_command(argv):
    """Whether the interpreter was started with `-m rayshim`."""
    for option, value in zip(argv[1:], [*argv[2:], ""]):
        if option.startswith("-") and not option.startswith("--") and option.endswith("m"):
            return value == "rayshim"
        if option.startswith("-m"):
            return option == "-mrayshim"
    return False


def _leave_out_current_directory():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if sys.path[0] != root and not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.__file__)  # the standard library, which is also further down the list


if sys.argv[:1] == ["-m"] and _is_our_command(sys.orig_argv):
    _leave_out_current_directory()
