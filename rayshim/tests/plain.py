"""Values as they are compared. Apart from what draws programs: workers import this, and to import hypothesis takes each a tenth of a second."""

import numpy as np


def plain(value):
    """`value` with arrays as (dtype, shape, bytes), for comparing."""
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    if isinstance(value, set):
        return sorted(value)
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    return value


def alike(value):
    """`value` with arrays as bytes, for comparing."""
    if hasattr(value, "tobytes"):
        return str(value.dtype), value.shape, value.tobytes()
    return [alike(part) for part in value] if isinstance(value, (list, tuple)) else value
