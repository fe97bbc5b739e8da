"""Modules of the standard library that `import ray` imports on Ray, and that programs therefore use by their package alone, as in `import logging, ray` and
`logging.handlers`. Here they are imported at their first use."""

import importlib
import sys

_MODULES = {
    "concurrent": ("futures",),
    "email": ("message", "utils"),
    "importlib": ("metadata", "resources"),
    "logging": ("handlers",),
    "urllib": ("error", "parse", "request"),
}


def _finder(package, modules, own):
    """A module's `__getattr__` that imports these modules; `own`: the one that the package has, or None."""

    def __getattr__(name):
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if own is not None:
            return own(name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])

    return __getattr__


for _name, _modules in _MODULES.items():
    _package = importlib.import_module(_name)
    # Python 3.15 has one in `logging`, for a deprecated name.
    _package.__getattr__ = _finder(_name, _modules, getattr(_package, "__getattr__", None))
