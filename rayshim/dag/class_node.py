"""Nodes of a graph for actors and for calls of their methods."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from rayshim.calls.actor_class import ActorClass
from rayshim.calls.handle import ActorHandle
from rayshim.dag.constants import (
    BIND_INDEX_KEY,
    IS_CLASS_METHOD_OUTPUT_KEY,
    PARENT_CLASS_NODE_KEY,
    PREV_CLASS_METHOD_CALL_KEY,
)
from rayshim.dag.dag_node import DAGNode
from rayshim.dag.format_utils import get_dag_node_str
from rayshim.dag.input_node import InputNode
from rayshim.errors.user_code import at, calling


class ClassNode(DAGNode):
    """`A.bind(...)`: an actor that each execution of the graph creates again. Its methods are attributes with a method `bind`.

    Raises ValueError if the graph's input is among the arguments, AttributeError for a method that the class does not have.
    """

    def __init__(
        self,
        cls: type,
        cls_args: tuple[Any, ...],
        cls_kwargs: dict[str, Any],
        cls_options: dict[str, Any],
        other_args_to_resolve: dict[str, Any] | None = None,
    ) -> None:
        self._body = cls
        self._last_call = None
        super().__init__(cls_args, cls_kwargs, cls_options, other_args_to_resolve=other_args_to_resolve)
        if any(isinstance(node, InputNode) for node in self._upstream_nodes):
            raise ValueError(
                "InputNode handles user dynamic input the DAG, and cannot be used as args, kwargs, or other_args_to_resolve "
                "in ClassNode constructor because it is not available at class construction or binding time. "
                f"({at(f'{cls.__name__}.bind')}: give it to a method's bind() instead)"
            )

    def _copy_impl(self, new_args, new_kwargs, new_options, new_other_args_to_resolve):
        return ClassNode(self._body, new_args, new_kwargs, new_options, new_other_args_to_resolve)

    def _execute_impl(self, *args, **kwargs):
        return ActorClass(self._body, self._bound_options).remote(*self._bound_args, **self._bound_kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_body" not in self.__dict__:  # Python's protocols, or an unfinished copy
            raise AttributeError(name)
        if name == "bind" and not hasattr(self._body, "bind"):
            raise AttributeError(
                f".bind() cannot be used again on {type(self)} (at {calling()}: bind one of its methods, node.method.bind())"
            )
        getattr(self._body, name)  # AttributeError if the class has no such method
        return _UnboundClassMethodNode(self, name)

    def __str__(self) -> str:
        return get_dag_node_str(self, str(self._body))


class _UnboundClassMethodNode:
    """A method of a ClassNode."""

    def __init__(self, actor, name, options=None):
        self._actor, self._name, self._options = actor, name, options or {}

    def options(self, **options):
        return _UnboundClassMethodNode(self._actor, self._name, options)

    def bind(self, *args, **kwargs):
        # The call before it on the same actor is a child of this one: executing the graph makes them in order.
        other = {PARENT_CLASS_NODE_KEY: self._actor, PREV_CLASS_METHOD_CALL_KEY: self._actor._last_call}
        node = self._actor._last_call = ClassMethodNode(self._name, args, kwargs, self._options, other)
        return node

    def __getattr__(self, name):
        if name == "remote":
            raise AttributeError(
                ".remote() cannot be used on ClassMethodNodes. Use .bind() instead to express an symbolic actor call. "
                f"({self._name}.remote at {calling()})"
            )
        raise AttributeError(name)


_bind_indices = weakref.WeakKeyDictionary()  # link of an actor -> counter


def next_bind_index(handle: ActorHandle[Any]) -> int:
    """The number of calls that have been bound to the actor through this handle."""
    return next(_bind_indices.setdefault(handle._link, itertools.count()))


def bind_method(
    handle: ActorHandle[Any],
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: dict[str, Any],
    results: int | str,
) -> Any:
    """The node of `handle.<name>.bind(*args, **kwargs)`; for `results` above 1, a tuple with a node for each result."""
    other = {PARENT_CLASS_NODE_KEY: handle, PREV_CLASS_METHOD_CALL_KEY: None, BIND_INDEX_KEY: next_bind_index(handle)}
    node = ClassMethodNode(name, args, kwargs, {"num_returns": results, **options}, other)
    return node.split(results) if isinstance(results, int) and results > 1 else node


class ClassMethodNode(DAGNode):
    """A call of a method of an actor or of a ClassNode; or one of the results of such a call with several results."""

    def __init__(
        self,
        method_name: str,
        method_args: tuple[Any, ...],
        method_kwargs: dict[str, Any],
        method_options: dict[str, Any],
        other_args_to_resolve: dict[str, Any],
    ) -> None:
        other = other_args_to_resolve
        self._method_name = method_name
        self._parent_class_node = other.get(PARENT_CLASS_NODE_KEY)
        self._prev_class_method_call = other.get(PREV_CLASS_METHOD_CALL_KEY)
        self._bind_index = other.get(BIND_INDEX_KEY)
        self._is_class_method_output = bool(other.get(IS_CLASS_METHOD_OUTPUT_KEY, False))
        super().__init__(method_args, method_kwargs, method_options, other_args_to_resolve=other)

    def split(self, results: int) -> tuple[ClassMethodNode, ...]:
        """The nodes of this call's results."""
        other = {
            PARENT_CLASS_NODE_KEY: self._parent_class_node,
            BIND_INDEX_KEY: self._bind_index,
            IS_CLASS_METHOD_OUTPUT_KEY: True,
        }
        return tuple(type(self)(f"return_idx_{i}", (self, i), {}, {}, dict(other)) for i in range(results))

    def _copy_impl(self, new_args, new_kwargs, new_options, new_other_args_to_resolve):
        return type(self)(self._method_name, new_args, new_kwargs, new_options, new_other_args_to_resolve)

    def _execute_impl(self, *args, **kwargs):
        if self._is_class_method_output:
            return self._bound_args[0][self._bound_args[1]]
        method = getattr(self._parent_class_node, self._method_name)
        if self._bound_options:
            method = method.options(**self._bound_options)
        return method.remote(*self._bound_args, **self._bound_kwargs)

    def _get_actor_handle(self):
        return self._parent_class_node if isinstance(self._parent_class_node, ActorHandle) else None

    def get_method_name(self) -> str:
        return self._method_name

    def _get_bind_index(self):
        return self._bind_index

    @property
    def num_returns(self) -> int | str:
        """The number of results of the call."""
        if self._is_class_method_output:
            return self.class_method_call.num_returns
        given = self._bound_options.get("num_returns")
        return 1 if given is None else given

    @property
    def is_class_method_call(self) -> bool:
        return not self._is_class_method_output

    @property
    def is_class_method_output(self) -> bool:
        return self._is_class_method_output

    @property
    def class_method_call(self) -> ClassMethodNode | None:
        """For a node that is one result of a call: the node of the call. None for a call."""
        return self._bound_args[0] if self._is_class_method_output else None

    @property
    def output_idx(self) -> int | None:
        """For a node that is one result of a call: the index of the result. None for a call."""
        return self._bound_args[1] if self._is_class_method_output else None

    def __str__(self) -> str:
        return get_dag_node_str(self, f"{self._method_name}()")

    __repr__ = __str__
