"""`plot`: draws a graph that has not been compiled."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from rayshim.dag.class_node import ClassMethodNode
from rayshim.dag.input_node import InputAttributeNode, InputNode
from rayshim.dag.output_node import MultiOutputNode
from rayshim.errors.user_code import at

if TYPE_CHECKING:
    from rayshim.dag.dag_node import DAGNode


def plot(dag: DAGNode, to_file: str | None = None) -> Any:
    """Draws the graph that ends in `dag` to the file `to_file`, whose extension is the format (default png). In a notebook, returns the image.

    Raises ImportError if pydot or graphviz is not installed.
    """
    import tempfile

    with tempfile.NamedTemporaryFile(suffix=".png") as temporary:
        to_file = to_file or temporary.name
        _dag_to_dot(dag).write(to_file, format=os.path.splitext(to_file)[1][1:] or "png")
        try:
            from IPython import display
        except ImportError:
            return None
        return display.Image(filename=to_file)


def _check_pydot_and_graphviz():
    try:
        import pydot
    except ImportError:
        raise ImportError(
            f"pydot is required to plot DAG, install it with `pip install pydot`. ({at('plot')}: it cannot be imported here)"
        ) from None
    try:
        pydot.Dot.create(pydot.Dot())
    except (OSError, pydot.InvocationException) as error:
        raise ImportError(
            f"graphviz is required to plot DAG, download it from https://graphviz.gitlab.io/download/ ({at('plot')}: its program `dot` could not be run: {error})"
        ) from None


def _get_nodes_and_edges(dag):
    """(the nodes, each once, children first; the edges as (child, node))."""
    nodes, edges = [], []

    def note(node):
        nodes.append(node)
        edges.extend((child, node) for child in node._get_all_child_nodes())
        return node

    dag.apply_recursive(note)
    return nodes, edges


def _names(nodes):
    """{node: its name in the picture}; a name that comes again gets a number."""
    names, counts = {}, {}
    for node in nodes:
        name = _name(node)
        counts[name] = counts.get(name, -1) + 1
        names[node] = f"{name}_{counts[name]}" if counts[name] else name
    return names


def _name(node):
    if isinstance(node, InputNode):
        return "INPUT_NODE"
    if isinstance(node, MultiOutputNode):
        return "MultiOutputNode"
    if isinstance(node, InputAttributeNode):
        return f"INPUT_ATTRIBUTE_NODE_{node.key}"
    own = node.get_method_name() if isinstance(node, ClassMethodNode) else node._body.__name__
    return node.get_options().get("name") or own


def _dag_to_dot(dag):
    """The graph as a pydot.Dot, from left to right."""
    _check_pydot_and_graphviz()
    import pydot

    graph = pydot.Dot(rankdir="LR")
    nodes, edges = _get_nodes_and_edges(dag)
    names = _names(nodes)
    for child, node in edges:
        graph.add_edge(pydot.Edge(names[child], names[node]))
    if not edges:
        graph.add_node(pydot.Node(names[nodes[0]]))
    return graph
