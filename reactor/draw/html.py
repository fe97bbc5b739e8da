"""A reactor graph as one HTML page that needs no network. Graphviz makes the layout; the browser can pan and zoom."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from reactor.draw import dot, lanes
from reactor.draw.picture import FOLD

TYPE_CHECKING = False  # like that of typing, without the import
if TYPE_CHECKING:
    from collections.abc import Sequence

    from reactor.draw.timings import Timings
    from reactor.model.graph import Graph
    from reactor.recording.rounds import Round

_PAGE = Path(__file__).with_name("page.html")


def render(
    graph: Graph,
    timings: Timings | None = None,
    fold: int | None = FOLD,
    title: str = "reactor graph",
    rounds: Sequence[Round] = (),
) -> str:
    """The page's text; `timings` a Timings, `rounds` are drawn below the graph. Raises ImportError where pygraphviz is not installed."""
    shares = "".join(
        f'<i style="background:{colour}" title="from {least:.0%}"></i>' for least, colour in reversed(dot.SHARES)
    )
    parts = {
        "TITLE": escape(title),
        "FACTS": f"{len(graph.reactors)} reactors · {len(graph.reactions)} reactions · {graph.depth} levels",
        "UNIT": escape(graph.unit),
        "SHARES": shares,
        "SVG": _svg(dot.render(graph, timings, fold)),
        "ROUNDS": f"<section>{lanes.svg(rounds)}</section>" if rounds else "",  # without, the graph has the whole page
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], _PAGE.read_text(encoding="utf-8"))


def missing() -> str | None:
    """Why no page can be made on this machine; None if it can."""
    try:
        import pygraphviz  # noqa: F401
    except ImportError as error:
        found = "is not installed" if error.name == "pygraphviz" else f"cannot be imported ({error})"
        return f"the HTML page of a graph is laid out by the package pygraphviz, which {found}: pip install 'rayshim[graph]'"
    return None


def _svg(text):
    if reason := missing():
        raise ImportError(f"{reason}. text(), mermaid() and dot() do not need it", name="pygraphviz")
    import pygraphviz

    drawn = pygraphviz.AGraph(string=text).draw(format="svg", prog="dot").decode()
    return re.sub(r"<!--.*?-->\n?", "", drawn[drawn.index("<svg") :], flags=re.DOTALL)
