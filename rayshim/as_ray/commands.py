"""Programs that a program starts as commands: the command `ray` and `import ray` mean rayshim in them, too.

A directory with the command `ray` comes first on PATH, one with a module `ray` first on PYTHONPATH.
"""

import os
import sys

MARK = "RAYSHIM_PYTHON"  # set where the variables are
_ROOT = os.path.dirname(os.path.abspath(__file__))


def variables(environment):
    """{name: value} of the variables that have to be set for that, with what `environment` has for them."""
    return {
        MARK: sys.executable,
        "PATH": _before(os.path.join(_ROOT, "bin"), environment.get("PATH", os.defpath)),
        "PYTHONPATH": _before(os.path.join(_ROOT, "path"), environment.get("PYTHONPATH", "")),
    }


def without(pythonpath):
    """The PYTHONPATH that `variables` has changed, as it was."""
    return pythonpath.removeprefix(os.path.join(_ROOT, "path")).removeprefix(os.pathsep)


def _before(directory, paths):
    rest = [path for path in paths.split(os.pathsep) if path and path != directory]
    return os.pathsep.join([directory, *rest])
