"""Imported first of all. Under `python -m rayshim` the interpreter puts the current directory first on `sys.path`, unlike under
`python script.py`: nothing of ours may be imported from there. rayshim.cli.script sets that entry to what the program is to have."""

import os
import sys


def _is_our_command(argv):
    """Whether the interpreter's command line says `-m rayshim`."""
    for option, value in zip(argv[1:], [*argv[2:], ""]):
        if option.startswith("-") and not option.startswith("--") and option.endswith("m"):
            return value == "rayshim"
        if option.startswith("-m"):
            return option == "-mrayshim"
    return False


def _leave_out_current_directory():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if sys.path[0] != root and not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.__file__)  # the standard library, which is further down too


if sys.argv[:1] == ["-m"] and _is_our_command(sys.orig_argv):
    _leave_out_current_directory()
