"""The GPUs that a process may use. The runtime numbers GPUs from 0. If the program has set CUDA_VISIBLE_DEVICES, the number is an index
into that list, as in Ray."""

import os
from contextlib import contextmanager

from rayshim.session.switches import is_on

VARIABLE = "CUDA_VISIBLE_DEVICES"


def visible(variable=VARIABLE):
    """The ids in CUDA_VISIBLE_DEVICES, or in another accelerator's variable, as strings; None if it is not set (all of them)."""
    value = os.environ.get(variable)
    return None if value is None else [] if value in ("", "NoDevFiles") else value.split(",")


def names(gpus, visible_ids):
    """The ids of the GPUs [(number, share)]; `visible_ids` is the list of `visible()`. If a runtime environment has set a list that is too short for
    the numbers, returns the whole list."""
    numbers = [number for number, _ in gpus]
    if visible_ids is None or not numbers:
        return numbers
    return [visible_ids[number] for number in numbers] if max(numbers) < len(visible_ids) else list(visible_ids)


def show(ids):
    """Sets CUDA_VISIBLE_DEVICES to these ids. Without ids it stays unchanged, unless RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO is set."""
    if (ids or is_on("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO")) and not is_on(
        "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"
    ):
        os.environ[VARIABLE] = ",".join(map(str, ids))


@contextmanager
def shown(ids):
    """A context manager: `show`, restored at the end."""
    before = os.environ.get(VARIABLE)
    show(ids)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before
