"""InputNode: the arguments of `execute` in a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rayshim.dag.dag_node import DAGNode
from rayshim.dag.format_utils import get_dag_node_str
from rayshim.errors.user_code import at, calling

if TYPE_CHECKING:
    from typing_extensions import Self

IN_CONTEXT_MANAGER = "__in_context_manager__"


class InputNode(DAGNode):
    """The input of a graph, one for all its nodes: `with InputNode() as inp: dag = f.bind(inp)`.

    `inp[0]`, `inp["key"]` and `inp.name` are parts of the input. If `execute` has several arguments, they select an argument; if it has one,
    they select an item or attribute of this argument. `input_type` is accepted and stored. Raises ValueError for any other argument.
    """

    _is_input = True

    def __init__(
        self, *args: Any, input_type: Any = None, _other_args_to_resolve: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        if args or kwargs:
            raise ValueError(
                f"InputNode should not take any args or kwargs. ({at('InputNode')}: the arguments are those of execute())"
            )
        self.input_attribute_nodes: dict[int | str, InputAttributeNode] = {}
        self.input_type = input_type
        super().__init__([], {}, {}, other_args_to_resolve=_other_args_to_resolve)

    def _copy_impl(self, new_args, new_kwargs, new_options, new_other_args_to_resolve):
        return InputNode(_other_args_to_resolve=new_other_args_to_resolve)

    def _execute_impl(self, *args, **kwargs):
        if not self._in_context_manager():
            raise AssertionError(
                "InputNode is a singleton instance that should be only used in context manager for dag building and execution. "
                f"Write `with InputNode() as inp:` and bind inside of it. (execute() at {calling()})"
            )
        if len(args) == 1 and not kwargs:
            return args[0]
        return DAGInputData(*args, **kwargs)

    def _in_context_manager(self):
        return bool(self._bound_other_args_to_resolve.get(IN_CONTEXT_MANAGER))

    def set_context(self, key: str, val: Any) -> None:
        self._bound_other_args_to_resolve[key] = val

    def __enter__(self) -> Self:
        self.set_context(IN_CONTEXT_MANAGER, True)
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __getattr__(self, key: str) -> Any:
        if (
            key.startswith("__") or "input_attribute_nodes" not in self.__dict__
        ):  # protocols of Python, a copy in the making
            raise AttributeError(key)
        return self._part(key, "__getattr__")

    def __getitem__(self, key: int | str) -> InputAttributeNode:
        if not isinstance(key, (str, int)):
            raise AssertionError(
                f"Please only use int index or str as first-level key to access fields of dag input. (at {calling()}: {key!r})"
            )
        return self._part(key, "__getitem__")

    def _part(self, key, accessor):
        if key not in self.input_attribute_nodes:
            self.input_attribute_nodes[key] = InputAttributeNode(self, key, accessor)
        return self.input_attribute_nodes[key]

    def __str__(self) -> str:
        return get_dag_node_str(self, "__InputNode__")


class InputAttributeNode(DAGNode):
    """A part of the input, given by `key`; see InputNode."""

    def __init__(self, dag_input_node: InputNode, key: int | str, accessor_method: str, input_type: Any = None) -> None:
        self._dag_input_node, self._key, self._accessor_method = dag_input_node, key, accessor_method
        other = {
            "dag_input_node": dag_input_node,
            "key": key,
            "accessor_method": accessor_method,
            "result_type_string": input_type,
        }
        super().__init__([], {}, {}, other)

    @property
    def key(self) -> int | str:
        return self._key

    def _copy_impl(self, new_args, new_kwargs, new_options, new_other_args_to_resolve):
        other = new_other_args_to_resolve
        return InputAttributeNode(
            other["dag_input_node"], other["key"], other["accessor_method"], other["result_type_string"]
        )

    def _execute_impl(self, *args, **kwargs):
        given = self._dag_input_node  # by now what the InputNode has given
        if self._accessor_method == "__getattr__" and not isinstance(given, DAGInputData):
            return getattr(given, self._key)  # pyright: ignore[reportArgumentType]  a name where it is an attribute
        return given[self._key]

    def __str__(self) -> str:
        return get_dag_node_str(self, f'["{self._key}"]')


class DAGInputData:
    """All arguments of one `execute` with several arguments: positional ones by index, keyword arguments by name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._args, self._kwargs = list(args), kwargs

    def __getitem__(self, key: int | str) -> Any:
        if isinstance(key, int):
            return self._args[key]
        if isinstance(key, str):
            return self._kwargs[key]
        raise ValueError(
            f"Please only use int index or str as first-level key to access fields of dag input. (at {calling()}: {key!r})"
        )
