"""A node for a call of a remote function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rayshim.calls.function import RemoteFunction
from rayshim.dag.dag_node import DAGNode
from rayshim.dag.format_utils import get_dag_node_str

if TYPE_CHECKING:
    from collections.abc import Callable


class FunctionNode(DAGNode):
    """`f.bind(...)`. Executing it calls the function in a task worker."""

    def __init__(
        self,
        func_body: Callable[..., Any],
        func_args: tuple[Any, ...],
        func_kwargs: dict[str, Any],
        func_options: dict[str, Any],
        other_args_to_resolve: dict[str, Any] | None = None,
        _remote: RemoteFunction[..., Any] | None = None,
    ) -> None:
        self._body = func_body
        self._remote = _remote  # the RemoteFunction; made from body and options where it is not given
        super().__init__(func_args, func_kwargs, func_options, other_args_to_resolve=other_args_to_resolve)

    def _copy_impl(self, new_args, new_kwargs, new_options, new_other_args_to_resolve):
        return FunctionNode(self._body, new_args, new_kwargs, new_options, new_other_args_to_resolve, self._remote)

    def _execute_impl(self, *args, **kwargs):
        if self._remote is None:
            self._remote = RemoteFunction(self._body, self._bound_options)
        return self._remote.remote(*self._bound_args, **self._bound_kwargs)

    def __str__(self) -> str:
        return get_dag_node_str(self, str(self._body))
