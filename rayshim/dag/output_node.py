"""MultiOutputNode: the end of a graph with several results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rayshim.dag.dag_node import DAGNode
from rayshim.dag.format_utils import get_dag_node_str
from rayshim.errors.user_code import at

if TYPE_CHECKING:
    from collections.abc import Sequence


class MultiOutputNode(DAGNode):
    """`MultiOutputNode([node, ...])`: its result is the list of the results of these nodes.

    Raises ValueError if the argument is not a list or tuple.
    """

    def __init__(self, args: Sequence[DAGNode], other_args_to_resolve: dict[str, Any] | None = None) -> None:
        if not isinstance(args, (list, tuple)):
            raise ValueError(
                f"Invalid input type for `args`, {type(args)}. ({at('MultiOutputNode')}: give it a list of nodes)"
            )
        super().__init__(list(args), {}, {}, other_args_to_resolve=other_args_to_resolve)

    def _execute_impl(self, *args, **kwargs):
        return self._bound_args

    def _copy_impl(self, new_args, new_kwargs, new_options, new_other_args_to_resolve):
        return MultiOutputNode(new_args, new_other_args_to_resolve)

    def __str__(self) -> str:
        return get_dag_node_str(self, "__MultiOutputNode__")
