"""`log_once`: log a message only once per process."""

from __future__ import annotations

from time import monotonic
from typing import Any

_PERIOD = 60.0  # seconds without a new key after which, in periodic mode, all keys count as new again

_seen = set()
_disabled = False
_periodic = False
_last = 0.0


def log_once(key: str) -> bool:
    """Whether this is the first call with this key (str) in this process."""
    global _last
    if _disabled:
        return False
    if key not in _seen:
        _seen.add(key)
        _last = monotonic()
        return True
    if _periodic and monotonic() - _last > _PERIOD:
        _seen.clear()
        _last = monotonic()
    return False


def disable_log_once_globally() -> None:
    """Makes `log_once` return False in this process from now on."""
    global _disabled
    _disabled = True


def enable_periodic_logging() -> None:
    """Makes all keys count as new again after a minute."""
    global _periodic
    _periodic = True


def reset_log_once(key: str | None = None) -> None:
    """Forgets this key, or all of them."""
    if key is None:
        _seen.clear()
    else:
        _seen.discard(key)


def __getattr__(name: str) -> Any:
    """RLlib's search for memory leaks uses two more names, which are Ray's own code."""
    if name not in ("Suspect", "_test_some_code_for_memory_leaks"):
        raise AttributeError(f"module 'ray.util.debug' has no attribute '{name}'")
    from importlib.util import module_from_spec

    from rayshim.as_ray import libraries

    spec = libraries.spec("util.debug")
    if spec is None or spec.loader is None:
        raise AttributeError(f"module 'ray.util.debug' has {name!r} only where real Ray is installed")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)
