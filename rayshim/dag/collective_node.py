"""Collective operations in a graph: each actor computes the reduction of the tensors of all actors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rayshim.dag.class_node import ClassMethodNode, next_bind_index
from rayshim.dag.constants import BIND_INDEX_KEY, COLLECTIVE_OPERATION_KEY, PARENT_CLASS_NODE_KEY
from rayshim.dag.dag_node import DAGNode
from rayshim.errors.user_code import calling


class _CollectiveOperation:
    """One collective operation, the common part of the nodes of `allreduce.bind(...)` and similar.

    Arguments:
        inputs: lists of nodes; each list has one node per actor, all in the same order of actors.
        op: AllReduceOp, AllGatherOp or ReduceScatterOp.
        transport: a Communicator with exactly these actors. Anything else is ignored, because tensors go through shared memory.

    Raises ValueError for wrong nodes.
    """

    def __init__(self, inputs, op, transport=None):
        self.inputs, self.op = inputs, op
        self.actor_handles = _checked(inputs)
        from rayshim.experimental.channel.communicator import Communicator

        if isinstance(transport, Communicator) and set(transport.get_actor_handles()) != set(self.actor_handles):  # pyright: ignore[reportArgumentType]
            raise ValueError(
                f"Expected actor handles to match the custom communicator group (at {calling()}: {len(self.actor_handles)} actors bound, {len(transport.get_actor_handles())} in the communicator; bind one node of each of its actors, or leave transport out)"  # pyright: ignore[reportArgumentType]
            )

    def of(self, node):
        """(the Reduction that the actor of `node` computes, the nodes whose values it takes). Each actor takes the tensors of all actors, and adds
        them in the order of the actors. So all actors have bitwise the same result, in every run."""
        rank = self.actor_handles.index(node._get_actor_handle())
        return Reduction(self.op, rank, len(self.actor_handles)), [n for nodes in self.inputs for n in nodes]

    def __str__(self):
        return f"CollectiveOperation(_actor_handles={self.actor_handles}, _op={self.op})"


def _checked(inputs):
    """The handles of the actors, in order."""
    handles = []
    for i, nodes in enumerate(inputs):
        where = f" at list at index {i}" if len(inputs) > 1 else ""
        if not nodes:
            raise ValueError(
                f"Expected non-empty input list{where}. (at {calling()}: give the nodes whose tensors are reduced, one per actor)"
            )
        if not all(isinstance(node, DAGNode) for node in nodes):
            raise ValueError(
                f"Expected all input nodes to be DAGNode{where}, but got {nodes}. (at {calling()}: pass nodes from the bind() of actor methods)"
            )
        if len(set(nodes)) != len(nodes):
            twice = [node for node in nodes if nodes.count(node) > 1]
            raise ValueError(
                f"Expected unique input nodes{where}, but found duplicates: {twice} (at {calling()}: bind each node once)"
            )
        these = [node._get_actor_handle() for node in nodes]
        if None in these:
            raise ValueError(
                f"Expected an actor handle from the input node{where} (at {calling()}: nodes of actors that were made with Actor.remote())"
            )
        if len(set(these)) != len(these):
            twice = [node for node, handle in zip(nodes, these) if these.count(handle) > 1]
            raise ValueError(
                f"Expected unique actor handles{where}, but found duplicate actor handles from input nodes: {twice} (at {calling()}: one node of each actor)"
            )
        handles.append(these)
    first = handles[0]
    for i, these in enumerate(handles):
        if len(these) != len(first):
            raise ValueError(
                "Expected all input lists to have the same number of nodes. "
                f"List at index 0 has length {len(first)}, but list at index {i} has length {len(these)}. (at {calling()}: give each list one node per actor)"
            )
        if set(these) != set(first):
            raise ValueError(
                "Expected all input lists to have the same set of actor handles. "
                f"List at index 0 has actors {set(first)}, but list at index {i} has actors {set(these)}. (at {calling()}: bind nodes of the same actors in each list)"
            )
        for position, (one, other) in enumerate(zip(first, these)):
            if one != other:
                raise ValueError(
                    "Expected all input lists to have the same order of actor handles. "
                    f"List at index 0 has actor {one} at position {position}, but list at index {i} has actor {other} at position {position}. (at {calling()}: give each list its nodes in the same order of actors)"
                )
    return first


@dataclass(frozen=True)
class Reduction:
    """One actor's part in a collective operation: a function of the tensors of all actors."""

    op: Any
    rank: int
    world: int

    def __call__(self, *tensors: Any) -> Any:
        """`tensors`: one tensor per actor for the first list of inputs, then for the next list. Returns the tensor of this actor or, for several
        lists, a tuple. Raises ValueError for a value that is not a tensor, or does not fit the operation."""
        import torch

        if not all(isinstance(t, torch.Tensor) for t in tensors):
            raise ValueError(
                f"Expected a torch tensor for each input node ({self.op}: got {[type(t).__name__ for t in tensors]}; the bound methods must return tensors)"
            )
        lists = [tensors[i : i + self.world] for i in range(0, len(tensors), self.world)]
        if len({t.dtype for t in tensors}) > 1:
            raise ValueError(
                f"Expected all input tensors to have the same dtype, but got {[t.dtype for t in tensors]} ({self.op}: have the bound methods return one dtype)"
            )
        reduced = tuple(self.op.apply(list(given), self.rank) for given in lists)
        return reduced[0] if len(reduced) == 1 else reduced


class CollectiveOutputNode(ClassMethodNode):
    """The result of a collective operation in one of its actors. Only in compiled graphs."""

    def __init__(
        self,
        method_name: str,
        method_args: tuple[Any, ...],
        method_kwargs: dict[str, Any],
        method_options: dict[str, Any],
        other_args_to_resolve: dict[str, Any],
    ) -> None:
        super().__init__(method_name, method_args, method_kwargs, method_options, other_args_to_resolve)
        self._collective_op = other_args_to_resolve.get(COLLECTIVE_OPERATION_KEY)
        if self._collective_op is None and not self._is_class_method_output:
            raise ValueError(
                f"Expected a collective operation (CollectiveOutputNode at {calling()}: none was given; make such nodes with allreduce.bind() and the like)"
            )

    @property
    def collective_op(self) -> Any:
        return self._collective_op

    def _execute_impl(self, *args, **kwargs):
        raise NotImplementedError(
            f"CollectiveOutputNode is only supported with dag.experimental_compile() (execute() at {calling()}: compile the graph, then execute what that gives)"
        )


def bind(inputs: Any, op: Any, name: str, transport: Any) -> Any:
    """The nodes of `op` over `inputs`. For a list of nodes, one per actor, returns such a list. For a list of lists, returns a list of nodes for
    each actor, with one node per list."""
    nested = isinstance(inputs[0], list)
    lists = inputs if nested else [inputs]
    operation = _CollectiveOperation(lists, op, transport)
    bound = []
    for at, handle in enumerate(operation.actor_handles):
        other = {
            PARENT_CLASS_NODE_KEY: handle,
            BIND_INDEX_KEY: next_bind_index(handle),
            COLLECTIVE_OPERATION_KEY: operation,
        }
        node = CollectiveOutputNode(name, tuple(nodes[at] for nodes in lists), {}, {}, other)
        bound.append(list(node.split(len(lists))) if len(lists) > 1 else node)
    return bound
