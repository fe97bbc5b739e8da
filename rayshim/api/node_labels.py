"""Labels of this machine."""

import os

_VARIABLES = {
    "ray.io/market-type": "RAY_NODE_MARKET_TYPE",
    "ray.io/node-group": "RAY_NODE_TYPE_NAME",
    "ray.io/availability-region": "RAY_NODE_REGION",
    "ray.io/availability-zone": "RAY_NODE_ZONE",
}


def of_machine(node, accelerator_type):
    """The default labels of this machine, {label: value}: its id `node`, the type of its accelerators (None: unknown), and the values of Ray's environment variables."""
    found = {label: os.environ[variable] for label, variable in _VARIABLES.items() if os.environ.get(variable)}
    if accelerator_type is not None:
        found["ray.io/accelerator-type"] = accelerator_type
    return {"ray.io/node-id": node, **found}
