"""The warning of functions that Ray has marked as deprecated."""

from __future__ import annotations

import sys
import warnings

_TEXT = (
    "This API is deprecated and may be removed in future Ray releases. You could suppress this warning by setting env variable "
    'PYTHONWARNINGS="ignore::DeprecationWarning"'
)


class RayDeprecationWarning(DeprecationWarning):
    """The warning when a deprecated function or class is used."""

    __module__ = "rayshim.util.annotations"


# It is shown in any module of the program, once for each. The filters that the program sets after `import ray` come before this one.
if not sys.warnoptions:
    warnings.filterwarnings("module", category=RayDeprecationWarning)


def text(message: str | None) -> str:
    """Ray's words, and those of who has marked the function or class."""
    return f"{_TEXT}\n{message}" if message is not None else _TEXT


def warn(instead: str) -> None:
    """Warns the caller of the function that calls this, with Ray's words."""
    warnings.warn(text(instead), RayDeprecationWarning, stacklevel=3)
