"""Imports modules in the zygote, before workers are forked."""

import sys


def preload(names):
    """Imports modules, so that forked workers have them. If an import fails here, it fails again where the module is used."""
    import importlib

    for name in names:
        if name not in sys.modules:
            try:
                importlib.import_module(name)
            except Exception:  # noqa: S110
                pass
    import random  # noqa: F401  every worker seeds it, and numpy's, see seeding.py; numpy loads its own when it is first used

    if "numpy" in sys.modules:
        sys.modules["numpy"].random  # noqa: B018
