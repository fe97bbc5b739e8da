"""Reads a graph for compiling: finds its nodes, checks whether it can be compiled, and makes its steps. Makes no call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reactor.plan import INPUT, Constant, Step, Value

from rayshim.dag.class_node import ClassMethodNode
from rayshim.dag.collective_node import CollectiveOutputNode
from rayshim.dag.dag_node import DAGNode
from rayshim.dag.function_node import FunctionNode
from rayshim.dag.input_node import InputAttributeNode, InputNode
from rayshim.dag.output_node import MultiOutputNode
from rayshim.errors.user_code import at

_MIXED_INPUT = "All tasks must either use InputNode() directly, or they must index to specific args or kwargs."


@dataclass
class ReadGraph:
    """A graph of nodes, read."""

    nodes: list[DAGNode]  # in the order in which they are numbered in drawings
    steps: list[Step]  # in the order in which they were bound
    outputs: list[Value]
    returns_list: bool
    positional: int  # how many positional arguments an execution has
    keywords: list[str]  # names of its keyword arguments


def read(output: DAGNode) -> ReadGraph:
    """The ReadGraph of `output` and all nodes connected to it.

    If the graph cannot be compiled, raises ValueError with the node and the reason, or NotImplementedError if the graph contains a task.
    """
    nodes = []
    output._find_root().traverse_and_apply(nodes.append)
    for node in nodes:
        _check_kind(node)
    returns_list = isinstance(output, MultiOutputNode)
    ends = list(output.get_args()) if returns_list else [output]
    for end in ends:
        if not isinstance(end, ClassMethodNode):
            raise AssertionError(
                f"The result of a Compiled Graph must be that of an actor's method. Found:\n{end}\n({at('experimental_compile')})"
            )
    positional, keywords = _inputs(nodes)
    _check_unused_parts(nodes, output)
    _check_leaves(nodes, output)
    calls = sorted(_calls(nodes), key=lambda n: n._number)
    position = {node: k for k, node in enumerate(calls)}
    steps = [_step(node, position) for node in calls]
    _check_inputs(steps, calls)
    if not returns_list:
        nodes.append(MultiOutputNode(ends))
    return ReadGraph(nodes, steps, [_value(end, position) for end in ends], returns_list, positional, keywords)


def _calls(nodes):
    return [n for n in nodes if isinstance(n, ClassMethodNode) and n.is_class_method_call]


def _check_kind(node):
    if isinstance(node, FunctionNode):
        raise NotImplementedError(
            f"Compiled DAGs currently only support actor method nodes ({at('experimental_compile')}: found the task {node}; make it a method of an actor)"
        )
    if not isinstance(node, (InputNode, InputAttributeNode, MultiOutputNode, ClassMethodNode)):
        raise ValueError(f"Found unsupported node of type {type(node)} ({at('experimental_compile')})")
    if isinstance(node, ClassMethodNode) and node._get_actor_handle() is None:
        raise ValueError(
            f"Compiled DAGs can only bind methods to an actor that is already created with Actor.remote() ({at('experimental_compile')}: {node.get_method_name()} is bound to a class)"
        )
    if any(isinstance(value, DAGNode) for value in node.get_kwargs().values()):
        raise ValueError(
            f"Compiled DAG currently does not support binding to other DAG nodes as kwargs ({at('experimental_compile')}: {node}; bind them by position)"
        )


def _inputs(nodes):
    """(number of positional arguments, names of the keyword arguments) that an execution must have."""
    taken = [
        arg for node in _calls(nodes) for arg in node.get_args() if isinstance(arg, (InputNode, InputAttributeNode))
    ]
    parts = list(dict.fromkeys(arg.key for arg in taken if isinstance(arg, InputAttributeNode)))
    if any(isinstance(arg, InputNode) for arg in taken):
        if parts:
            raise ValueError(f"{_MIXED_INPUT} ({at('experimental_compile')})")
        return 1, []
    positional = [part for part in parts if isinstance(part, int)]
    return max(positional, default=-1) + 1, [part for part in parts if isinstance(part, str)]


def _check_unused_parts(nodes, output):
    (root,) = [node for node in nodes if isinstance(node, InputNode)]
    parts, used, seen, stack = root.input_attribute_nodes, set(), set(), [output]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack += node._upstream_nodes
            if isinstance(node, InputAttributeNode):
                used.add(node.key)
    unused = [str(key) for key in parts if key not in used]
    if unused:
        raise ValueError(
            f"Compiled Graph expects input to be accessed using all of attributes {', '.join(map(str, parts))}, but "
            f"{', '.join(unused)} {'is' if len(unused) == 1 else 'are'} unused. Ensure all input attributes are used and "
            f"contribute to the computation of the Compiled Graph output. ({at('experimental_compile')})"
        )


def _check_leaves(nodes, output):
    """Raises ValueError for a leaf that is not an output: its errors would be lost, because nobody asks for its result."""
    known = set(nodes)
    leaves = [
        node.get_method_name()
        for node in nodes
        if isinstance(node, ClassMethodNode)
        and node is not output
        and not any(d in known for d in node._downstream_nodes)
    ]
    if leaves:
        raise ValueError(
            "Compiled DAG doesn't support leaf nodes, i.e., nodes that don't have downstream nodes and are not output nodes. "
            f"There are {len(leaves)} leaf nodes in the DAG. Please add the outputs of {leaves} to the the MultiOutputNode. ({at('experimental_compile')})"
        )


def _check_inputs(steps, calls):
    for step, node in zip(steps, calls):
        if not step.inputs:
            raise ValueError(
                "Compiled DAGs require each task to take a ray.dag.InputNode or at least one other DAGNode as an input. "
                f"Invalid task node:\n{node}\nPlease bind the task to proper DAG nodes. ({at('experimental_compile')})"
            )


def _step(node, position):
    parts: list[Any] = [
        n.output_idx for n in node._downstream_nodes if isinstance(n, ClassMethodNode) and n.class_method_call is node
    ]
    stores = tuple(Value(position[node], part) for part in sorted(parts)) or (Value(position[node]),)
    method, arguments = node.get_method_name(), node.get_args()
    if isinstance(node, CollectiveOutputNode):
        method, arguments = node.collective_op.of(node)
    return Step(
        reactor=node._get_actor_handle(),
        reaction=method,
        arguments=tuple(_value(a, position) if isinstance(a, DAGNode) else Constant(a) for a in arguments),
        stores=stores,
        name=node.get_method_name(),
        keywords=node.get_kwargs(),
        bind_index=node._get_bind_index(),  # pyright: ignore[reportArgumentType]
    )


def _value(node, position):
    if isinstance(node, InputNode):
        return Value(INPUT)
    if isinstance(node, InputAttributeNode):
        return Value(INPUT, node.key)
    if node.is_class_method_output:
        return Value(position[node.class_method_call], node.output_idx)
    return Value(position[node])
