"""A reactor graph in Mermaid's flowchart language, which GitHub and many editors can draw."""

from __future__ import annotations

from reactor.draw.picture import FOLD, picture
from reactor.draw.text import delay_text

TYPE_CHECKING = False  # like that of typing, without the import
if TYPE_CHECKING:
    from reactor.draw.timings import Timings
    from reactor.model.graph import Graph


def render(graph: Graph, timings: Timings | None = None, fold: int | None = FOLD) -> str:
    """Mermaid text: a subgraph per reactor, dotted arrows for delayed connections; `timings` a Timings."""
    drawn = picture(graph, timings, fold)
    lines = ["flowchart LR"]
    for group in drawn.groups:
        lines.append(f'  subgraph {group.id}["{_escaped(group.title)}"]')
        for node in group.nodes:
            label = "<br/>".join(map(_escaped, filter(None, (node.name, node.site, node.timing))))
            lines.append(f'    {node.id}["{label}"]')
        lines.append("  end")
    for arrow in drawn.arrows:
        label = "<br/>".join(map(_escaped, filter(None, (*arrow.short, delay_text(arrow.delay, drawn.unit)))))
        line = "-->" if arrow.delay is None else "-.->"
        labelled = f'{line}|"{label}"|' if label else line
        lines.append(f"  {arrow.source.id} {labelled} {arrow.target.id}")
    return "\n".join(lines)


def _escaped(text):
    """Mermaid's entities are HTML's with # in place of &."""
    for mark, entity in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(mark, entity)
    return text
