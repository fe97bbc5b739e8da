"""The text of the remedy where Python finds the sources of this package without its native core."""

import importlib.machinery
import itertools
import os
import sys

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def refuse():
    """Raises the ImportError that says what to do; under `python -m` of one of the packages, prints it and ends the process with status 2."""
    text = _text()
    options = itertools.takewhile(lambda argument: argument.startswith("-"), sys.orig_argv[1:])
    place = next((i for i, option in enumerate(options, 2) if option == "-m"), len(sys.orig_argv))
    module = "".join(sys.orig_argv[place : place + 1])
    if module.partition(".")[0] in ("rayshim", "reactor"):
        print(f"{module}: {text}", file=sys.stderr)
        raise SystemExit(2)
    raise ImportError(text, name="reactor._core")


def _text():
    here = f"Python imports rayshim from {_ROOT}, where its native core is not built for this Python"
    python = os.path.join(_ROOT, ".venv", "bin", "python")
    if os.path.exists(os.path.join(_ROOT, ".venv", "built")):
        return f"{here}. It is built for {python}: use that"
    if (installed := _installed()) is not None:
        return f"{here}. rayshim is also installed in {installed}: start in another directory, or without {_ROOT} on PYTHONPATH"
    if os.path.exists(os.path.join(_ROOT, "Makefile")):
        return f"{here}. Run `make .venv/built` there (a few minutes) and use {python}, or `pip install {_ROOT}` and start in another directory"
    return f"{here}. Install rayshim again: pip install --force-reinstall rayshim"


def _installed():
    """The directory on the path of modules with the package and its core, or None."""
    for directory in sys.path:
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            if os.path.exists(os.path.join(directory or ".", "reactor", f"_core{suffix}")):
                return os.path.abspath(directory)
    return None
