"""Labels of this machine."""

import os

_VARIABLES = {
    "ray.io/market-type": "RAY_NODE_MARKET_TYPE",
    "ray.io/node-group": "RAY_NODE_TYPE_NAME",
    "ray.io/availability-region": "RAY_NODE_REGION",
    "ray.io/availability-zone": "RAY_NODE_ZONE",
}


def of_machine(node):
    """{label: value} that the machine has of itself: its id `node`, and what Ray's environment variables say."""
    found = {label: os.environ[variable] for label, variable in _VARIABLES.items() if os.environ.get(variable)}
    return {"ray.io/node-id": node, **found}
