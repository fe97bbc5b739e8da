"""`import ray` in a program that a program under `python -m rayshim` has started as a command (rayshim/as_ray/commands.py): rayshim, or real
Ray for an interpreter that does not have rayshim."""

import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [path for path in sys.path if not path or os.path.abspath(path) != _here]
del sys.modules["ray"]
try:
    from rayshim.as_ray import alias
except ModuleNotFoundError as _error:
    if _error.name != "rayshim":
        raise
else:
    import rayshim  # noqa: F401

    alias.install()
import ray  # noqa: E402, F401
