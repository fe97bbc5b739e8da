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

SchedulingStrategyT = (
    str | PlacementGroupSchedulingStrategy | NodeAffinitySchedulingStrategy | NodeLabelSchedulingStrategy | None
)
"""What `scheduling_strategy=` takes; a str is "DEFAULT" or "SPREAD"."""

LabelMatchExpressionsT = dict[str, In | NotIn | Exists | DoesNotExist]
