"""Collective operations of compiled graphs: `allreduce.bind([node, ...])`."""

from rayshim.experimental.collective.operations import allgather, allreduce, reducescatter

__all__ = ["allgather", "allreduce", "reducescatter"]
