"""Accelerators that are no GPUs, which stand among the `resources`: who may use which is said in environment variables, as in Ray."""

import os
from contextlib import contextmanager

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


def wrong(name, amount):
    """The error of a request for that many, as text, or None."""
    if name == "TPU" and amount not in _CHIPS:
        return f"The number of requested 'TPU' was set to {amount} which is not a supported chip configuration. Supported configs: {_CHIPS}"
    if name != "NPU" and amount != int(amount):
        return f"{name} resource quantity must be whole numbers. The specified quantity {amount} is invalid."
    return None


def numbers(taken):
    """{resource: ids, strings} of what GpuShares gave: {resource: [(number, share)]}."""
    return {name: [str(number) for number, _ in shares] for name, shares in (taken or {}).items()}


def show(taken):
    """Has libraries in this process use these."""
    for name, ids in numbers(taken).items():
        os.environ[VARIABLES[name]] = ",".join(ids)


@contextmanager
def shown(taken):
    """`show` for a while."""
    before = {VARIABLES[name]: os.environ.get(VARIABLES[name]) for name in taken}
    show(taken)
    try:
        yield
    finally:
        for variable, value in before.items():
            if value is None:
                os.environ.pop(variable, None)
            else:
                os.environ[variable] = value
