"""Isolated placement: a process per actor, tasks in a pool of workers."""

from rayshim.placement.interface import Placement


class Isolated(Placement):
    """As the interface says: nothing is shared."""

    name = "isolated"
