"""The values of the option `scheduling_strategy`, which chooses where a task or actor runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rayshim.errors.user_code import at, calling
from rayshim.session.ids import NodeID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rayshim.resources.groups import PlacementGroup
    from rayshim.util.scheduling_strategies import LabelMatchExpressionsT


class PlacementGroupSchedulingStrategy:
    """Run in a placement group.

    Arguments:
        placement_group: the group.
        placement_group_bundle_index: index of the bundle; -1: any bundle.
        placement_group_capture_child_tasks: whether tasks and actors that it starts are in the group, too; default: the setting of the caller.
    """

    __module__ = "rayshim.util.scheduling_strategies"

    def __init__(
        self,
        placement_group: PlacementGroup,
        placement_group_bundle_index: int = -1,
        placement_group_capture_child_tasks: bool | None = None,
    ) -> None:
        self.placement_group = placement_group
        self.placement_group_bundle_index = placement_group_bundle_index
        self.placement_group_capture_child_tasks = placement_group_capture_child_tasks


class NodeAffinitySchedulingStrategy:
    """Run on the node with this id (hex str or NodeID). With `soft=True` another node may be used. Here there is only one node; a task that requires
    another one fails."""

    __module__ = "rayshim.util.scheduling_strategies"

    def __init__(
        self, node_id: str | NodeID, soft: bool, _spill_on_unavailable: bool = False, _fail_on_unavailable: bool = False
    ) -> None:
        self.node_id: str = node_id if isinstance(node_id, str) else node_id.hex()
        self.soft = soft
        self._spill_on_unavailable = _spill_on_unavailable
        self._fail_on_unavailable = _fail_on_unavailable
        try:
            known = not NodeID.from_hex(self.node_id).is_nil()
        except Exception:
            known = False
        if not known:
            raise ValueError(
                f"Invalid node_id '{self.node_id}'. Node ID must be a valid hex string. To get a list of all nodes and their IDs in "
                f"your cluster, use ray.nodes(). See https://docs.ray.io/en/latest/ray-core/miscellaneous.html#node-information for more details. ({at('NodeAffinitySchedulingStrategy')})"
            )
        if _spill_on_unavailable and not soft:
            raise ValueError(
                f"_spill_on_unavailable cannot be set when soft is False. Please set soft to True to use _spill_on_unavailable. (at {calling()})"
            )
        if _fail_on_unavailable and soft:
            raise ValueError(
                f"_fail_on_unavailable cannot be set when soft is True. Please set soft to False to use _fail_on_unavailable. (at {calling()})"
            )


class _Values:
    def __init__(self, *values: str) -> None:
        name = type(self).__name__
        if not values:
            raise ValueError(
                f'The variadic parameter of the {name} operator must be a non-empty tuple: e.g. {name}("value1", "value2"). (at {calling()})'
            )
        for i, value in enumerate(values):
            if not isinstance(value, str):
                raise ValueError(
                    f'Type of value in position {i} for the {name} operator must be str (e.g. {name}("value1", "value2")) '
                    f"but got {value} of type {type(value)}. (at {calling()})"
                )
        self.values: list[str] = list(values)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.values))})"


class In(_Values):
    """The label has one of the values."""

    __module__ = "rayshim.util.scheduling_strategies"

    def holds(self, value: str | None) -> bool:
        return value in self.values


class NotIn(_Values):
    """The label has none of the values, or does not exist."""

    __module__ = "rayshim.util.scheduling_strategies"

    def holds(self, value: str | None) -> bool:
        return value not in self.values


class Exists:
    """The label exists."""

    __module__ = "rayshim.util.scheduling_strategies"

    def holds(self, value: str | None) -> bool:
        return value is not None

    def __repr__(self) -> str:
        return "Exists()"


class DoesNotExist:
    """The label does not exist."""

    __module__ = "rayshim.util.scheduling_strategies"

    def holds(self, value: str | None) -> bool:
        return value is None

    def __repr__(self) -> str:
        return "DoesNotExist()"


class _LabelMatchExpression:
    def __init__(self, key: str, operator: In | NotIn | Exists | DoesNotExist) -> None:
        self.key = key
        self.operator = operator

    def holds(self, labels: Mapping[str, str]) -> bool:
        return self.operator.holds(labels.get(self.key))

    def __repr__(self) -> str:
        return f"{self.key}: {self.operator!r}"


class NodeLabelSchedulingStrategy:
    """Run on a node with matching labels: `NodeLabelSchedulingStrategy({"region": In("us"), "gpu_type": Exists()})`.

    `hard` must match; `soft` is a preference, which has no effect with a single node.
    """

    __module__ = "rayshim.util.scheduling_strategies"

    def __init__(self, hard: LabelMatchExpressionsT | None, *, soft: LabelMatchExpressionsT | None = None) -> None:
        self.hard: list[_LabelMatchExpression] = _expressions(hard, "hard")
        self.soft: list[_LabelMatchExpression] = _expressions(soft, "soft")
        if not (self.hard or self.soft):
            raise ValueError(
                f'The `hard` and `soft` parameter of NodeLabelSchedulingStrategy cannot both be empty. (at {calling()}: give one a map such as {{"key": In("value")}})'
            )


def _expressions(given, parameter):
    if given is None:
        return []
    if not isinstance(given, dict):
        raise ValueError(
            f'The {parameter} parameter must be a map (e.g. {{"key1": In("value1")}}) but got type {type(given)}. (at {calling()})'
        )
    for key, value in given.items():
        if not isinstance(key, str):
            raise ValueError(
                f'The map key of the {parameter} parameter must be of type str (e.g. {{"key1": In("value1")}}) '
                f"but got {key} of type {type(key)}. (at {calling()})"
            )
        if not isinstance(value, (In, NotIn, Exists, DoesNotExist)):
            raise ValueError(
                f"The map value for key {key} of the {parameter} parameter must be one of the `In`, `NotIn`, `Exists` or "
                f'`DoesNotExist` operator (e.g. {{"key1": In("value1")}}) but got {value} of type {type(value)}. (at {calling()})'
            )
    return [_LabelMatchExpression(key, value) for key, value in given.items()]


def selected(selector, labels):
    """Whether labels match the option `label_selector`: {label: "value", "!value", "in(a,b)" or "!in(a,b)"}."""
    return all(_fits(condition, labels.get(key)) for key, condition in selector.items())


def _fits(condition, value):
    negated = condition.startswith("!")
    condition = condition.lstrip("!")
    if condition.startswith("in(") and condition.endswith(")"):
        wanted = condition[3:-1].split(",")
    else:
        wanted = [condition]
    return (value in wanted) != negated
