"""`ray.util.collective.const`: for backends that the program registers."""

import hashlib
import os
from enum import Enum
from typing import Any

from rayshim.errors.user_code import calling


def get_store_name(group_name: str) -> str:
    """The name of the actor by which the members of a group meet. ValueError for an empty name."""
    if not group_name:
        raise ValueError(f"group_name is None. (get_store_name at {calling()}: give the name of a group)")
    return hashlib.sha256(group_name.encode()).hexdigest()


class ENV(Enum):
    """Environment variables; `val` is the value."""

    NCCL_USE_MULTISTREAM = (1, "True")

    @property
    def val(self) -> Any:
        return (os.getenv(self.name) or self.value[1]) == "True"
