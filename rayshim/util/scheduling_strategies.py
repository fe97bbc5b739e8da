"""`ray.util.scheduling_strategies`."""

from rayshim.placement.strategies import (  # noqa: F401
    DoesNotExist,
    Exists,
    In,
    NodeAffinitySchedulingStrategy,
    NodeLabelSchedulingStrategy,
    NotIn,
    PlacementGroupSchedulingStrategy,
)
