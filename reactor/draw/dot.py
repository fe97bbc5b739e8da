"""A reactor graph in DOT, Graphviz's language: a cluster per reactor, a rank per level."""

from __future__ import annotations

from html import escape

from reactor.draw.picture import FOLD, picture
from reactor.draw.text import delay_text

TYPE_CHECKING = False  # like that of typing, without the import
if TYPE_CHECKING:
    from collections.abc import Iterable

    from reactor.draw.timings import Timings
    from reactor.model.graph import Graph

_MOST_DETAILS = 8  # lines of an arrow's tooltip
FONT = "Helvetica,Arial,sans-serif"
INK, MUTED, LINE, EDGE, LATER = "#1f2933", "#5f6c7b", "#cbd2d9", "#829ab1", "#b08968"
_KINDS = {"caller": "#f3f1ec", "actor": "#f2f6fa", "tasks": "#f1f7f2"}
SHARES = ((0.5, "#f4b183"), (0.25, "#f8cfad"), (0.1, "#fbe3cf"), (0.02, "#fdf3ea"), (0.0, "#ffffff"))


def render(graph: Graph, timings: Timings | None = None, fold: int | None = FOLD) -> str:
    """DOT text for `dot`; a node's colour is its share of the time in `timings`, a Timings; dashed arrows are delayed."""
    drawn = picture(graph, timings, fold)
    lines = [
        'graph [rankdir=LR, newrank=true, ranksep=0.9, nodesep=0.22, pad=0.3, bgcolor="transparent", '  # noqa: ISC004
        f'fontname="{FONT}", fontsize=12, fontcolor="{INK}"];',
        f'node [shape=box, style="rounded,filled", color="{LINE}", fillcolor="#ffffff", fontname="{FONT}", fontsize=11, '  # noqa: ISC004
        f'fontcolor="{INK}", margin="0.1,0.04"];',
        f'edge [color="{EDGE}", fontname="{FONT}", fontsize=9, fontcolor="{MUTED}", arrowsize=0.6, penwidth=1.1];',
    ]
    for group in drawn.groups:
        fill = _KINDS.get(group.kind, "#f6f7f8")
        lines += [
            f"subgraph cluster_{group.id} {{",
            f'  id="{group.id}"; label=<<B>{escape(group.title)}</B>>; labeljust=l; style="rounded,filled"; '  # noqa: ISC004
            f'color="{LINE}"; fillcolor="{fill}"; margin=12; tooltip={quoted(f"{group.name}  {group.site}")};',
            *(f"  {_node(node)}" for node in group.nodes),
            "}",
        ]
    for level, nodes in enumerate(drawn.levels):
        heading = (
            f'level{level} [id="level{level}", shape=plaintext, style="", label="level {level}", fontcolor="{MUTED}"]'
        )
        lines.append(f"{{rank=same; {heading}; " + "; ".join(node.id for node in nodes) + "}")
    if len(drawn.levels) > 1:  # keeps the ranks apart where no arrow does
        lines.append(" -> ".join(f"level{level}" for level in range(len(drawn.levels))) + " [style=invis, weight=10];")
    lines += [_edge(arrow, a, drawn.unit) for a, arrow in enumerate(drawn.arrows)]
    return digraph("reactors", lines)


def _node(node):
    name = f"{node.name}  × {node.times}" if node.times > 1 else node.name
    small = (f'<FONT POINT-SIZE="9" COLOR="{MUTED}">{escape(text)}</FONT>' for text in (node.site, node.timing) if text)
    rows = "".join(f"<TR><TD>{text}</TD></TR>" for text in (escape(name), *small))
    label = f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">{rows}</TABLE>>'
    fill = next(colour for least, colour in SHARES if (node.share or 0) >= least)
    tooltip = "\n".join(filter(None, (f"{node.group}.{node.name}", f"level {node.level}", node.site, node.timing)))
    return f'{node.id} [id="{node.id}", label={label}, fillcolor="{fill}", tooltip={quoted(tooltip)}];'


def _edge(arrow, number, unit):
    later = delay_text(arrow.delay, unit)
    more = len(arrow.details) - _MOST_DETAILS
    details = (*arrow.details[:_MOST_DETAILS], f"and {more:,} more" if more > 0 else "", later)
    tooltip = quoted("\n".join(filter(None, details)))
    attributes = [f'id="e{number}"', f"tooltip={tooltip}", f"labeltooltip={tooltip}"]
    attributes.append(f'class="from-{arrow.source.id} to-{arrow.target.id}"')
    if arrow.short:
        attributes.append("label=<" + "<BR/>".join(map(escape, arrow.short)) + ">")
    if arrow.delay is not None:
        attributes.append(f'style=dashed, constraint=false, color="{LATER}"')
    return f"{arrow.source.id} -> {arrow.target.id} [{', '.join(attributes)}];"


def digraph(name: str, lines: Iterable[str]) -> str:
    """DOT text with these lines."""
    return "\n".join([f"digraph {name} {{", *(f"  {line}" for line in lines), "}"])


def quoted(text: str) -> str:
    """A string of DOT."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
