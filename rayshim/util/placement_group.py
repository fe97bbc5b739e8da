"""`ray.util.placement_group`."""

from rayshim.resources.groups import (
    VALID_PLACEMENT_GROUP_STRATEGIES,
    PlacementGroup,
    check_placement_group_index,
    get_current_placement_group,
    get_placement_group,
    placement_group,
    placement_group_table,
    remove_placement_group,
    validate_placement_group,
)

__all__ = [
    "VALID_PLACEMENT_GROUP_STRATEGIES",
    "PlacementGroup",
    "check_placement_group_index",
    "get_current_placement_group",
    "get_placement_group",
    "placement_group",
    "placement_group_table",
    "remove_placement_group",
    "validate_placement_group",
]


def _valid_resource_shape(resources, bundle_specs):
    """Whether {resource: amount} fits into one of the bundles."""
    wanted = {name: amount for name, amount in resources.items() if name != "bundle"}
    return any(all(bundle.get(name, 0) >= amount for name, amount in wanted.items()) for bundle in bundle_specs)
