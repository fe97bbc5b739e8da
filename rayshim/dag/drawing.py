"""Drawings of a compiled graph: text, or DOT for graphviz."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reactor.draw.dot import digraph, quoted

from rayshim.dag.input_node import InputAttributeNode, InputNode
from rayshim.dag.output_node import MultiOutputNode
from rayshim.errors.user_code import at

if TYPE_CHECKING:
    from rayshim.dag.reading import ReadGraph

_WIDTH = 30  # of a column of the text


def drawn(graph: ReadGraph, filename: str, format: str, view: bool, channel_details: bool) -> str:
    """See `CompiledDAG.visualize`."""
    if format == "ascii":
        text = _text(graph)
        if view:
            print(text)
        return text
    try:
        import graphviz
    except ImportError:
        raise ImportError(
            "Please install graphviz to visualize the compiled graph. You can install it by running `pip install graphviz`. "
            f'({at("visualize")}: it cannot be imported here; format="ascii" does not need it)'
        ) from None
    source = _dot(graph, channel_details)
    graphviz.Source(source).render(filename, format=format, view=view)
    return source


def _edges(graph):
    """Pairs of positions in `graph.nodes`; the parts of the input hang on the input."""
    at = {node: i for i, node in enumerate(graph.nodes)}
    edges = []
    for i, node in enumerate(graph.nodes):
        if isinstance(node, InputAttributeNode):
            edges += [(j, i) for j, n in enumerate(graph.nodes) if isinstance(n, InputNode)]
        else:
            edges += [(at[child], i) for child in node._get_toplevel_child_nodes() if child in at]
    return sorted(dict.fromkeys(edges))


def _actor(node):
    handle = node._get_actor_handle()
    return handle._info.name, handle._actor_id.hex()[:6]


def _long(node):
    if isinstance(node, InputNode):
        return "InputNode"
    if isinstance(node, InputAttributeNode):
        return f"InputAttributeNode[{node.key}]"
    if isinstance(node, MultiOutputNode):
        return "MultiOutputNode"
    if node.is_class_method_output:
        return f"ClassMethodOutputNode[{node.output_idx}]"
    return f"Actor: {_actor(node)[1]}... Method: {node.get_method_name()}"


def _short(node):
    if isinstance(node, InputAttributeNode):
        return "InputAttributeNode"
    if isinstance(node, (InputNode, MultiOutputNode)):
        return type(node).__name__
    if node.is_class_method_output:
        return f"Output[{node.output_idx}]"
    return f"Actor_{_actor(node)[1]}:{node.get_method_name()}"


def _text(graph):
    edges = _edges(graph)
    shown = [(i, j) for i, j in edges if not isinstance(graph.nodes[j], InputAttributeNode)]
    lines = ["Nodes Information:"]
    lines += [f'{i} [label="Task {i}  {_long(node)}"] ' for i, node in enumerate(graph.nodes)]
    lines += ["", "Edges Information:", *(f"{i} ---> {j}" for i, j in shown)]
    lines += [
        "",
        "Legend:",
        "+++> : Represents Accelerator-type data channels",
        "---> : Represents Shared Memory data channels",
    ]
    lines += ["", "Graph Built:"]
    layers = _layers(graph, shown)
    width = max(map(len, layers)) * _WIDTH
    for depth, layer in enumerate(layers):
        lines.append("".join(f"{i}:{_short(graph.nodes[i])}".ljust(_WIDTH) for i in layer).ljust(width))
        if depth + 1 < len(layers):
            lines.append(_between(layer, layers[depth + 1], shown).ljust(width))
    return "\n".join(lines)


def _layers(graph, edges):
    """The nodes by depth: each below all that it takes."""
    depth = [0] * len(graph.nodes)
    for _ in graph.nodes:
        for i, j in edges:
            depth[j] = max(depth[j], depth[i] + 1)
    return [[i for i, d in enumerate(depth) if d == at] for at in range(max(depth) + 1)]


def _between(upper, lower, edges):
    """The line between two layers: `|` straight down, arrows to where a node spreads out or several come together."""
    last = 0
    arrow = " "
    for i, j in edges:
        if i in upper and j in lower:
            begin, end = upper.index(i), lower.index(j)
            last = max(last, begin, end)
            if begin != end:
                arrow = ">" if begin < end else "<"
    if arrow == " ":
        return "".join("|".ljust(_WIDTH) for _ in range(last + 1))
    reach = "-" * (_WIDTH - 2)
    return "|" + (f"{reach}>|" if arrow == ">" else f"<{reach}|") * last


def _dot(graph, channel_details):
    lines = ["rankdir=TB;"]
    for i, node in enumerate(graph.nodes):
        shape = "rectangle" if isinstance(node, (InputNode, InputAttributeNode, MultiOutputNode)) else "oval"
        label = quoted(f"Task {i}\n{_long(node)}")
        lines.append(f"{i} [label={label}, shape={shape}];")
    for i, j in _edges(graph):
        here, there = graph.nodes[i]._get_actor_handle(), graph.nodes[j]._get_actor_handle()
        how = "stays in the actor" if here is not None and here == there else "shared memory"
        attributes = f' [label="{how}"]' if channel_details else ""
        lines.append(f"{i} -> {j}{attributes};")
    return digraph("compiled_graph", lines)
