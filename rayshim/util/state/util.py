"""`ray.util.state.util`."""

from __future__ import annotations

import warnings
from typing import Any

from rayshim.errors.user_code import calling

_TRUTH = {"True": True, "true": True, "1": True, "False": False, "false": False, "0": False}


def convert_string_to_type(val: Any, convert_type: type) -> Any:
    """`val` as an int, float or bool; None stays None. Raises ValueError for another text, and AssertionError for another type."""
    if val is None or type(val) is convert_type:
        return val
    if convert_type not in (int, float, bool):
        raise AssertionError(f"Unsupported convert type {convert_type} (at {calling()})")
    try:
        return _TRUTH[val] if convert_type is bool else convert_type(val)
    except (ValueError, KeyError):
        raise ValueError(
            f"Failed to convert a value {val} of type {type(val)} to {convert_type} (at {calling()})"
        ) from None


def record_deprecated_state_api_import() -> None:
    """Warns that a module of `ray.experimental.state` is the former place of one of `ray.util.state`."""
    warnings.warn(
        "Ray state API is no longer experimental. Please import from `ray.util.state`. instead. Importing from `ray.experimental` will be "
        "deprecated in future releases. ",
        DeprecationWarning,
        stacklevel=3,
    )
