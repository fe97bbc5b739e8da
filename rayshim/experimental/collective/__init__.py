"""Collective operations of compiled graphs, `allreduce.bind([node, ...])`, and collective groups of actors."""

from rayshim.experimental.collective.collective import (
    create_collective_group,
    destroy_all_collective_groups,
    destroy_collective_group,
    get_collective_groups,
)
from rayshim.experimental.collective.operations import allgather, allreduce, reducescatter

__all__ = [
    "allgather",
    "allreduce",
    "create_collective_group",
    "destroy_all_collective_groups",
    "destroy_collective_group",
    "get_collective_groups",
    "reducescatter",
]
