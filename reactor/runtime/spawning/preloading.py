"""Imports modules in the zygote, before workers are forked."""

import gc
import sys

from reactor.runtime.spawning import imported_with, spawning

SLOW_LIBRARIES = ("numpy", "torch", "gymnasium")  # the zygote imports them once for all workers, if the program has


def slow_imports():
    """Those of SLOW_LIBRARIES that this process has imported, as `preload` takes them."""
    return tuple(
        (name, getattr(getattr(sys.modules[name], "__spec__", None), "origin", None) or "")
        for name in SLOW_LIBRARIES
        if name in sys.modules
    )


def preload(modules):
    """Imports modules, so that forked workers have them. If an import fails here, it fails again where the module is used.

    modules: names, or pairs of a name and the file of the module in the program. Of the latter, one that has another file here is left out:
    the program has a module of its own with this name.

    What they bring is frozen: in a worker, the garbage collector would otherwise look at all of it, and so copy the pages that are shared with the zygote.
    After an import of torch._dynamo each collection in a worker took 0.07 s, and 38 MB of its memory were copies.
    """
    before = len(sys.modules)
    with imported_with.watched(), spawning.existing_directory():
        for module in modules:
            _import(*module if isinstance(module, tuple) else (module,))
    import random  # noqa: F401  every worker seeds it, and numpy's, see seeding.py; numpy loads its own when it is first used

    if "numpy" in sys.modules:
        sys.modules["numpy"].random  # noqa: B018
    if len(sys.modules) > before:
        gc.collect()
        gc.freeze()


def _import(name, file=None):
    import importlib.util

    if name not in sys.modules:
        try:
            if file is None or getattr(importlib.util.find_spec(name), "origin", None) == file:
                importlib.import_module(name)
        except Exception:  # noqa: S110
            pass
