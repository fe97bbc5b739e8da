"""DAGNode, the base class of all nodes of a graph."""

from __future__ import annotations

import uuid
import warnings
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Literal

from rayshim.dag.base import DAGNodeBase
from rayshim.dag.py_obj_scanner import _PyObjScanner
from rayshim.errors.deprecation import RayDeprecationWarning
from rayshim.errors.user_code import at, calling

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from typing_extensions import Self

    from rayshim.dag.compiled_dag_node import CompiledDAG
    from rayshim.experimental.channel.communicator import Communicator
    from rayshim.experimental.channel.type_hints import ChannelOutputType

compiler = None  # the class CompiledDAG, which rayshim.dag.compiled_dag_node puts here
_bound = count()  # numbers the nodes in the order in which they are bound, which is that of the graph's serial run


class DAGNode(DAGNodeBase):
    """One call, one actor or one input of a graph.

    Arguments:
        args, kwargs: the bound arguments. They may contain nodes anywhere; for `experimental_compile` a node must be an argument itself.
        options: the options of the call, as for `.options(...)`.
        other_args_to_resolve: further data of this kind of node, which may contain nodes.
    """

    _is_input = False  # whether it is an InputNode

    def __init__(
        self,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        options: dict[str, Any],
        other_args_to_resolve: dict[str, Any] | None = None,
    ) -> None:
        self._bound_args = args or []
        self._bound_kwargs = kwargs or {}
        self._bound_options = options or {}
        self._bound_other_args_to_resolve = other_args_to_resolve or {}
        self._stable_uuid = uuid.uuid4().hex  # the same in all copies of a node
        self._number = next(_bound)
        self._downstream_nodes = []
        self._args_contain_nested_dag_node = False
        self._upstream_nodes = self._collect_upstream_nodes()
        for node in self._upstream_nodes:
            node._downstream_nodes.append(self)
        self.cache_from_last_execute: dict[str, Any] = {}
        self._type_hint: ChannelOutputType | None = None
        self._original_type_hint: ChannelOutputType | None = None
        self.is_cgraph_output_node: bool = False

    def _collect_upstream_nodes(self):
        nodes = []
        for arg in self._bound_args:
            if isinstance(arg, DAGNode):
                nodes.append(arg)
            elif inside := _PyObjScanner().find_nodes(arg):
                nodes += inside
                self._args_contain_nested_dag_node = True
        return nodes + _PyObjScanner().find_nodes([self._bound_kwargs, self._bound_other_args_to_resolve])

    # ---- what was bound

    def get_args(self) -> Sequence[Any]:
        """The bound positional arguments."""
        return self._bound_args

    def get_kwargs(self) -> dict[str, Any]:
        """A copy of the dict of the bound keyword arguments."""
        return self._bound_kwargs.copy()

    def get_options(self) -> dict[str, Any]:
        """A copy of the dict of the options."""
        return self._bound_options.copy()

    def get_other_args_to_resolve(self) -> dict[str, Any]:
        return self._bound_other_args_to_resolve.copy()

    def get_stable_uuid(self) -> str:
        """Hex id of the node, the same in its copies."""
        return self._stable_uuid

    def _get_actor_handle(self):
        """The handle of the actor whose method this is; None for all other nodes."""
        return

    # ---- running it once

    def execute(self, *args: Any, _ray_cache_refs: bool = False, **kwargs: Any) -> Any:
        """Makes each call of the graph once, and returns the result of this node: a ref, a list of refs, or a handle.

        The arguments are those of the graph's input. With `_ray_cache_refs=True` the results of all nodes are kept in
        `cache_from_last_execute`.
        """
        warnings.warn(
            "DAGNode.execute() is deprecated and will be removed in a future release.",
            RayDeprecationWarning,
            stacklevel=2,
        )

        def run(node):
            return node._execute_impl(*args, **kwargs)

        result = self.apply_recursive(run)
        if _ray_cache_refs:
            self.cache_from_last_execute = run.cache
        return result

    def _execute_impl(self, *args, **kwargs):
        raise NotImplementedError

    async def get_object_refs_from_last_execute(self) -> dict[str, Any]:
        """{uuid of a node: its result in the last `execute(_ray_cache_refs=True)`}."""
        return dict(self.cache_from_last_execute)

    def clear_cache(self) -> None:
        self.cache_from_last_execute = {}

    # ---- walking

    def _get_toplevel_child_nodes(self):
        """The nodes that are arguments themselves, each once, in order."""
        given = chain(self._bound_args, self._bound_kwargs.values(), self._bound_other_args_to_resolve.values())
        return list(dict.fromkeys(value for value in given if isinstance(value, DAGNode)))

    def _get_all_child_nodes(self):
        """The nodes anywhere in the arguments, each once, in order."""
        return list(dict.fromkeys(self._scan(_PyObjScanner())))

    def _scan(self, scanner):
        return scanner.find_nodes([self._bound_args, self._bound_kwargs, self._bound_other_args_to_resolve])

    def _apply_and_replace_all_child_nodes(self, fn):
        """A copy of this node with `fn(child)` in place of each child."""
        scanner = _PyObjScanner()
        table = {node: fn(node) for node in dict.fromkeys(self._scan(scanner))}
        args, kwargs, other = scanner.replace_nodes(table)  # pyright: ignore[reportGeneralTypeIssues]
        return self._copy(args, kwargs, self.get_options(), other)

    def apply_recursive(self, fn: Callable[[DAGNode], Any]) -> Any:
        """Calls `fn` with a copy of each node, children first, each node once. The copy has the children's results as arguments.

        Returns the result for this node; `fn.cache` is then {uuid: result}. Raises AssertionError if the graph has two InputNodes.
        """
        if not isinstance(fn, _Once):
            fn = _Once(fn)
        elif self._stable_uuid in fn.cache:
            return fn.cache[self._stable_uuid]
        return fn(self._apply_and_replace_all_child_nodes(lambda node: node.apply_recursive(fn)))

    def apply_functional(
        self, source_input_list: Any, predicate_fn: Callable[[DAGNode], bool], apply_fn: Callable[[DAGNode], Any]
    ) -> Any:
        """A copy of `source_input_list` with `apply_fn(node)` in place of each node for which `predicate_fn(node)` holds."""
        scanner = _PyObjScanner()
        nodes = dict.fromkeys(scanner.find_nodes(source_input_list))
        return scanner.replace_nodes({node: apply_fn(node) if predicate_fn(node) else node for node in nodes})

    def traverse_and_apply(self, fn: Callable[[DAGNode], Any]) -> None:
        """Calls `fn` with each node that is connected to this one, in either direction, nearest nodes first.

        Raises ValueError if an argument of a node contains nodes, or if two of the nodes have been compiled.
        """
        seen, queue, compiled = {self}, [self], None
        for node in queue:
            if node._args_contain_nested_dag_node:
                node._refuse_nested()
            if node.is_cgraph_output_node:
                if compiled is not None:
                    raise ValueError(
                        "The DAG was compiled more than once. The following two nodes call `experimental_compile`: "
                        f"(1) {compiled}, (2) {node} ({at('experimental_compile')}: compile one node that has all outputs, a MultiOutputNode)"
                    )
                compiled = node
            fn(node)
            new = [n for n in dict.fromkeys([*node._downstream_nodes, *node._upstream_nodes]) if n not in seen]
            seen.update(new)
            queue += new

    def _refuse_nested(self):
        for arg in self._bound_args:
            if not isinstance(arg, DAGNode) and (inside := _PyObjScanner().find_nodes(arg)):
                raise ValueError(
                    f"Found {len(inside)} DAGNodes from the arg {arg} in {self}. Please ensure that the argument is a single "
                    "DAGNode and that a DAGNode is not allowed to be placed inside any type of container. "
                    f"({at('experimental_compile')}: pass each node as an argument of its own)"
                )

    def _find_root(self):
        """The InputNode on which this node depends. Raises ValueError if there is none."""
        node = self
        while not node._is_input:
            if not node._upstream_nodes:
                raise ValueError(
                    f"No InputNode found in the DAG: when traversing upwards, no upstream node was found for {node}. "
                    f"({at('experimental_compile')}: bind the first call to `inp` of `with InputNode() as inp`)"
                )
            node = node._upstream_nodes[0]
        return node

    # ---- compiling

    def with_tensor_transport(
        self,
        transport: str | Communicator = "auto",
        device: Literal["default", "cpu", "gpu", "cuda"] = "default",
        _static_shape: bool = False,
        _direct_return: bool = False,
    ) -> Self:
        """Sets the transport for tensors in the result of this node: "auto", "shm", "nccl", "accelerator" or a Communicator. Returns the node.

        The setting has no effect: here tensors always go through shared memory. Raises ValueError for an unknown transport or device.
        """
        from rayshim.experimental.channel.type_hints import tensor_hint

        self.type_hint = tensor_hint(transport, device, _static_shape, _direct_return)
        return self

    @property
    def type_hint(self) -> ChannelOutputType | None:
        return self._type_hint

    @type_hint.setter
    def type_hint(self, hint: ChannelOutputType) -> None:
        self._original_type_hint, self._type_hint = self._type_hint, hint

    def experimental_compile(
        self,
        _submit_timeout: float | None = None,
        _buffer_size_bytes: int | None = None,
        enable_asyncio: bool = False,
        _max_inflight_executions: int | None = None,
        _max_buffered_results: int | None = None,
        _overlap_gpu_communication: bool | None = None,
        _default_communicator: Communicator | str | None = "create",
    ) -> CompiledDAG:
        """Checks the graph that ends in this node and compiles it. Returns a CompiledDAG.

        For arguments that are None, the values of DAGContext apply.

        Arguments:
            _submit_timeout: most seconds that `execute` waits until it can start; -1: no limit.
            enable_asyncio: if True, the graph is run by `await execute_async(...)` instead of `execute(...)`.
            _max_inflight_executions, _max_buffered_results: see DAGContext.
            _buffer_size_bytes, _overlap_gpu_communication, _default_communicator: checked, but without effect.

        Raises ValueError for a graph that cannot be compiled, NotImplementedError for a graph that contains a task.
        """
        if self.is_cgraph_output_node:
            raise ValueError(
                "It is not allowed to call `experimental_compile` on the same DAG object multiple times no matter whether "
                "`teardown` is called or not. Please reuse the existing compiled DAG or create a new one. "
                f"({at('experimental_compile')}: {self} ends a graph that has been compiled)"
            )
        self.is_cgraph_output_node = True
        return compiler(
            self,
            _submit_timeout,
            _buffer_size_bytes,
            enable_asyncio,
            _max_inflight_executions,
            _max_buffered_results,
            _overlap_gpu_communication,
            _default_communicator,
        )

    # ---- copies

    def _copy_impl(self, new_args, new_kwargs, new_options, new_other_args_to_resolve):
        raise NotImplementedError

    def _copy(self, new_args, new_kwargs, new_options, new_other_args_to_resolve):
        copied = self._copy_impl(new_args, new_kwargs, new_options, new_other_args_to_resolve)
        copied._stable_uuid = self._stable_uuid
        copied._type_hint, copied._original_type_hint = self._type_hint, self._original_type_hint
        return copied

    def __getattr__(self, name: str) -> Any:
        if name == "bind":
            raise AttributeError(
                f".bind() cannot be used again on {type(self)} (at {calling()}: give the node to the bind() of another method)"
            )
        if name == "remote":
            raise AttributeError(
                f".remote() cannot be used on {type(self)}. To execute the task graph for this node, use .execute(). (at {calling()})"
            )
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    # `__getattr__` of some nodes gives something for any name: pickling must not ask it.
    def __getstate__(self) -> Any:
        return self.__dict__

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)


class _Once:
    """A function of a node that is computed once for each node and its copies."""

    def __init__(self, fn):
        self._fn, self.cache, self._input = fn, {}, None
        fn.cache = self.cache

    def __call__(self, node):
        if node._is_input:
            if self._input not in (None, node._stable_uuid):
                raise AssertionError(
                    "Each DAG should only have one unique InputNode. (found a second one; bind all nodes to the one of a single `with InputNode() as inp`)"
                )
            self._input = node._stable_uuid
        if node._stable_uuid not in self.cache:
            self.cache[node._stable_uuid] = self._fn(node)
        return self.cache[node._stable_uuid]
