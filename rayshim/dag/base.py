"""The common base class of a graph's nodes."""


class DAGNodeBase:
    """Common base class of the nodes, for which the scanner searches."""
