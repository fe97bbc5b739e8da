"""Which GPUs a process sees. The runtime numbers those that it gives out from 0; where the program has set CUDA_VISIBLE_DEVICES, the
number is a place in that list, as in Ray."""

import os
from contextlib import contextmanager

VARIABLE = "CUDA_VISIBLE_DEVICES"


def visible():
    """The GPUs that this process was told to use, as strings; None: all."""
    value = os.environ.get(VARIABLE)
    return None if value is None else [] if value in ("", "NoDevFiles") else value.split(",")


def names(gpus, told):
    """The ids of the GPUs [(number, share)] where the process was `told` to use these (see `visible`). Where a runtime environment has
    told a worker of fewer than its numbers need, all of them."""
    numbers = [number for number, _ in gpus]
    if told is None or not numbers:
        return numbers
    return [told[number] for number in numbers] if max(numbers) < len(told) else list(told)


def show(ids):
    """Has libraries in this process see the GPUs with these ids. Without any they see what they saw, unless the user wants it otherwise."""
    if (ids or _is_set("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO")) and not _is_set(
        "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"
    ):
        os.environ[VARIABLE] = ",".join(map(str, ids))


@contextmanager
def shown(ids):
    """`show` for a while."""
    before = os.environ.get(VARIABLE)
    show(ids)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before


def _is_set(name):
    return os.environ.get(name, "").lower() in ("1", "true")
