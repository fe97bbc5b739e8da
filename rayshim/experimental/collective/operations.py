"""allgather, allreduce and reducescatter over nodes of a graph, one node per actor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from rayshim.dag.collective_node import bind
from rayshim.errors.user_code import calling
from rayshim.experimental.util.types import AllGatherOp, AllReduceOp, ReduceOp, ReduceScatterOp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rayshim.dag.collective_node import CollectiveOutputNode
    from rayshim.dag.dag_node import DAGNode
    from rayshim.experimental.channel.communicator import Communicator


class AllGatherWrapper:
    """`allgather.bind(nodes)`: each actor gets the tensors of all actors, concatenated along the first dimension."""

    def bind(
        self, input_nodes: Sequence[DAGNode], transport: str | Communicator | None = None
    ) -> list[CollectiveOutputNode]:
        return bind(_flat(input_nodes), AllGatherOp(), "allgather", transport)


class AllReduceWrapper:
    """`allreduce.bind(nodes)`: each actor gets the reduction of all tensors. A list of lists, one list per tensor, is reduced in one operation."""

    @overload
    def bind(
        self, input_nodes: Sequence[DAGNode], op: ReduceOp = ..., transport: str | Communicator | None = ...
    ) -> list[CollectiveOutputNode]: ...
    @overload
    def bind(
        self, input_nodes: Sequence[Sequence[DAGNode]], op: ReduceOp = ..., transport: str | Communicator | None = ...
    ) -> list[list[CollectiveOutputNode]]: ...
    def bind(self, input_nodes: Any, op: ReduceOp = ReduceOp.SUM, transport: str | Communicator | None = None) -> Any:
        return bind(input_nodes, AllReduceOp(_checked(op)), f"allreduce.{op}", transport)


class ReduceScatterWrapper:
    """`reducescatter.bind(nodes)`: each actor gets its part, along the first dimension, of the reduction of all tensors."""

    def bind(
        self, input_nodes: Sequence[DAGNode], op: ReduceOp = ReduceOp.SUM, transport: str | Communicator | None = None
    ) -> list[CollectiveOutputNode]:
        return bind(_flat(input_nodes), ReduceScatterOp(_checked(op)), f"reducescatter.{op}", transport)


def _checked(op):
    if not isinstance(op, ReduceOp):
        raise ValueError(f"Unexpected operation: {op} (at {calling()}: give a ReduceOp, such as ReduceOp.SUM)")
    return op


def _flat(nodes):
    if nodes and isinstance(nodes[0], list):
        raise ValueError(
            f"Currently binding a nested list of dag nodes is only supported for allreduce (at {calling()}: bind each list by itself)"
        )
    return nodes


allgather: AllGatherWrapper = AllGatherWrapper()
allreduce: AllReduceWrapper = AllReduceWrapper()
reducescatter: ReduceScatterWrapper = ReduceScatterWrapper()
