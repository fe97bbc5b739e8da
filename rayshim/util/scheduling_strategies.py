"""`ray.util.scheduling_strategies`."""

from rayshim.resources.strategies import (
    DoesNotExist,
    Exists,
    In,
    NodeAffinitySchedulingStrategy,
    NodeLabelSchedulingStrategy,
    NotIn,
    PlacementGroupSchedulingStrategy,
)

__all__ = [
    "DoesNotExist",
    "Exists",
    "In",
    "LabelMatchExpressionsT",
    "NodeAffinitySchedulingStrategy",
    "NodeLabelSchedulingStrategy",
    "NotIn",
    "PlacementGroupSchedulingStrategy",
    "SchedulingStrategyT",
]

SchedulingStrategyT = (
    str | PlacementGroupSchedulingStrategy | NodeAffinitySchedulingStrategy | NodeLabelSchedulingStrategy | None
)
"""The values that `scheduling_strategy=` takes; a str is "DEFAULT" or "SPREAD"."""

LabelMatchExpressionsT = dict[str, In | NotIn | Exists | DoesNotExist]
