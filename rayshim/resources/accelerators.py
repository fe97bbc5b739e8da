"""Accelerators other than GPUs, which are part of the `resources`. As in Ray, environment variables tell a process which of them it may use. The runtime
numbers the accelerators of one kind from 0. If the program has set the variable, the number is an index into that list."""

import os
import re
from contextlib import contextmanager

from rayshim.resources import gpus

#: {resource: the variable with the ids that a process may use}
VARIABLES = {
    "neuron_cores": "NEURON_RT_VISIBLE_CORES",
    "TPU": "TPU_VISIBLE_CHIPS",
    "HPU": "HABANA_VISIBLE_MODULES",
    "NPU": "ASCEND_RT_VISIBLE_DEVICES",
    "RBLN": "RBLN_DEVICES",
    "FURIOSA": "FURIOSA_DEVICES",
    "TTNPU": "TT_VISIBLE_DEVICES",
}
_CHIPS = (1, 2, 4, 8)  # of a TPU that can be asked for


def asked(resources):
    """{resource: amount} of the accelerators among these."""
    return {name: amount for name, amount in resources.items() if name in VARIABLES and amount}


def devices(resources):
    """{resource: amount} of the GPUs and other accelerators among these."""
    found = {"GPU": resources.get("GPU"), **asked(resources)}
    return {name: amount for name, amount in found.items() if amount}


def wrong(name, amount):
    """The error of a request for that many, as text, or None."""
    if name == "TPU" and amount not in _CHIPS:
        return f"The number of requested 'TPU' was set to {amount} which is not a supported chip configuration. Supported configs: {_CHIPS}"
    if name != "NPU" and amount != int(amount):
        return f"{name} resource quantity must be whole numbers. The specified quantity {amount} is invalid."
    return None


def wrong_above_one(name, amount):
    """The error of a request for that many of a resource whose amounts above 1 must be whole numbers, as text, or None."""
    if amount > 1 and amount != int(amount):
        return f"{name} resource quantities >1 must be whole numbers. The specified quantity {amount} is invalid."
    return None


def visible():
    """{resource: ids, strings} of the accelerators that the environment variables name; a resource whose variable is not set is missing."""
    found = {name: gpus.visible(variable) for name, variable in VARIABLES.items()}
    return {name: ids for name, ids in found.items() if ids is not None}


def note_visible(session):
    """Notes in a Session the GPUs and other accelerators that the environment variables of this process name."""
    session.visible_gpus, session.visible_accelerators = gpus.visible(), visible()


def too_many(amounts):
    """The error of more accelerators in a session's `amounts` than the environment variables name, as text, or None."""
    for name, ids in visible().items():
        if (amounts.get(name) or 0) > len(ids):
            return f"Attempting to start raylet with {amounts[name]} {name}, but {VARIABLES[name]} contains {ids}."
    return None


def type_of_machine(amounts):
    """The type of the machine's accelerators, as `accelerator_type=` names it: "H100". A machine has accelerators of one kind, that of which the session's
    `amounts` has any. None: it has none, or their type cannot be determined."""
    kind = next((name for name in ("GPU", *VARIABLES) if amounts.get(name)), None)
    return nvidia_type() if kind == "GPU" else "aws-neuron-core" if kind == "neuron_cores" else None


def nvidia_type():
    """The type of the first of NVIDIA's GPUs, such as "H100", as the driver tells; None without one."""
    import glob

    for path in glob.glob("/proc/driver/nvidia/gpus/*/information"):
        with open(path) as file:
            model = re.search(r"^Model:\s*(.*)$", file.read(), re.MULTILINE)
        if model:
            return nvidia_type_of(model.group(1))
    return None


def nvidia_type_of(name):
    """ "NVIDIA H100 80GB HBM3" is "H100", "Tesla V100-SXM2-16GB" is "V100"."""
    found = re.search(r"(?:\w+\s+)?(?:Tesla\s+|NVIDIA\s+)?([A-Z]+[0-9]+[A-Z]*)", name or "")
    return found.group(1) if found else None


def names(taken, visible_ids):
    """{resource: ids, strings} of what Devices gave, {resource: [(number, share)]}; `visible_ids` is what `visible` was."""
    return {
        name: [_id(number, visible_ids.get(name)) for number, _ in shares] for name, shares in (taken or {}).items()
    }


def _id(number, ids):
    return ids[number] if ids is not None and number < len(ids) else str(number)


def show(taken, visible_ids):
    """Has libraries in this process use these."""
    for name, ids in names(taken, visible_ids).items():
        os.environ[VARIABLES[name]] = ",".join(ids)


@contextmanager
def shown(taken, visible_ids):
    """`show` for a while."""
    before = {VARIABLES[name]: os.environ.get(VARIABLES[name]) for name in taken}
    show(taken, visible_ids)
    try:
        yield
    finally:
        for variable, value in before.items():
            if value is None:
                os.environ.pop(variable, None)
            else:
                os.environ[variable] = value
