"""Environment variables that switch something on or off, by Ray's rule."""

import os


def is_on(variable: str, default: str = "") -> bool:
    """Whether the environment variable, or `default` where it is not set, is "1" or "true" in any case; all else is off."""
    return os.environ.get(variable, default).lower() in ("1", "true")
