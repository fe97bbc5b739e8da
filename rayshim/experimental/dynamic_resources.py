"""`ray.experimental.dynamic_resources`."""

from typing import NoReturn


def set_resource(resource_name: str, capacity: float, node_id: str | None = None) -> NoReturn:
    """Raises DeprecationWarning, as in Ray."""
    raise DeprecationWarning(
        "Dynamic custom resources are deprecated. Consider using placement groups instead (docs.ray.io/en/master/placement-group.html). You "
        "can also specify resources at Ray start time with the 'resources' field in the cluster autoscaler."
    )
