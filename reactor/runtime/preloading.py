"""Modules that workers have from birth."""

import sys


def preload(names):
    """Imports modules so that workers have them from birth. One that fails to import will fail where it is used."""
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
