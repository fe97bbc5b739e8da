"""The warning of functions that Ray has marked as deprecated."""

from __future__ import annotations

import warnings


class RayDeprecationWarning(DeprecationWarning):
    """The warning when a deprecated function or class is used."""

    __module__ = "rayshim.util.annotations"


def warn(instead: str) -> None:
    """Warns the caller of the function that calls this, with Ray's words."""
    warnings.warn(
        "This API is deprecated and may be removed in future Ray releases. You could suppress this warning by setting env variable "
        f'PYTHONWARNINGS="ignore::DeprecationWarning"\n{instead}',
        RayDeprecationWarning,
        stacklevel=3,
    )
