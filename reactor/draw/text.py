"""A reactor graph as plain text: level by level, each reaction with the values that it sends."""

from __future__ import annotations

from collections import defaultdict

from reactor.draw.picture import FOLD, picture
from reactor.printable import printable

TYPE_CHECKING = False  # like that of typing, without the import
if TYPE_CHECKING:
    from reactor.draw.timings import Timings
    from reactor.model.graph import Graph


def render(graph: Graph, timings: Timings | None = None, fold: int | None = FOLD) -> str:
    """Text with a line per reaction and, below it, a line per arrow that leaves it; `timings` a Timings."""
    drawn = picture(graph, timings, fold)
    leaving = defaultdict(list)
    for arrow in drawn.arrows:
        leaving[arrow.source.id].append(arrow)
    lines = [str(graph)]
    for level, nodes in enumerate(drawn.levels):
        lines.append(f"level {level}")
        for node in nodes:
            lines.append("  " + "   ".join(filter(None, (f"{node.group}.{node.name}", node.site, node.timing))))
            for arrow in leaving[node.id]:
                target = f"{arrow.target.group}.{arrow.target.name}"
                what = [", ".join(arrow.labels), delay_text(arrow.delay, drawn.unit)]
                lines.append("    -> " + "   ".join(filter(None, (target, *what))))
    places = defaultdict(list)
    for group in drawn.groups:
        if group.place:
            places[group.place].append(group.name)
    lines += [f"{place}: {', '.join(names)}" for place, names in sorted(places.items())]
    return printable("\n".join(lines), lines=True)


def delay_text(delay, unit):
    """ "2 patterns later"; "" for None, "a microstep later" for 0."""
    if delay is None:
        return ""
    one = unit[:-1] if delay == 1 and len(unit) > 1 and unit.endswith("s") else unit
    return f"{delay:g} {one} later" if delay else "a microstep later"
