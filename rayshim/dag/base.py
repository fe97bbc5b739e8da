"""The type that every node of a graph has."""


class DAGNodeBase:
    """Common base of the nodes; what the scanner looks for."""
