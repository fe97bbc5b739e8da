"""Average rounds of a program: a lane for each process, with the calls that it runs, as text and as SVG."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from html import escape

from reactor.draw.timings import duration

TYPE_CHECKING = False  # like that of typing, without the import
if TYPE_CHECKING:
    from collections.abc import Iterable

    from reactor.recording.rounds import Round, TimedCall

_MOST = 16  # lanes drawn of a round
_COLUMNS = 60  # of the text's bars
_LEFT, _BARS, _RIGHT, _HEIGHT = 150, 700, 250, 20  # of the SVG, in its units
_OWN, _WAIT, _STEP, _PATH, _INK, _MUTED = "#829ab1", "#e4e7eb", "#bcd4ec", "#f4b183", "#1f2933", "#5f6c7b"


@dataclass(frozen=True)
class Lane:
    name: str
    steps: tuple[TimedCall, ...]

    @property
    def facts(self) -> str:
        """ "step 3 times, 1.2 ms"."""
        names = Counter(_of_lane(step.name) for step in self.steps)
        listed = ", ".join(f"{name} {n} times" if n > 1 else name for name, n in names.most_common(3))
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return f"{listed}{more}, {duration(sum(step.end - step.start for step in self.steps))}"


def text(rounds: Iterable[Round]) -> str:
    """Text with a line for each lane: = is the caller's own code, . its wait, # a call, * a call on the longest path."""
    return "\n\n".join("\n".join(_lines(one)) for one in rounds)


def svg(rounds: Iterable[Round]) -> str:
    """A heading and an <svg> for each round, and before them what the colours mean, to be put into a page; "" if there are none."""
    drawn = [f"<h2>{escape(title(one))}</h2>\n{_svg(one)}" for one in rounds]
    meanings = (
        (_OWN, "the caller's own code"),
        (_WAIT, "its wait"),
        (_STEP, "a call"),
        (_PATH, "a call on the longest path"),
    )
    legend = " ".join(f'<i style="background:{colour}"></i> {meaning}' for colour, meaning in meanings)
    return "\n".join([f'<p class="legend">{legend}</p>', *drawn]) if drawn else ""


def title(one: Round) -> str:
    where = f" at {one.pattern.end_site}" if one.pattern.end_site else ""
    return f"{one.pattern.runs:,} rounds of {duration(one.total)}, up to the {one.pattern.ends}{where}"


def path_text(one: Round) -> str:
    """ "longest path: Env.step, Net.learn: 3.2 ms"; "" if its calls take no time."""
    seconds = sum(step.end - step.start for step in one.path)
    if not seconds:
        return ""
    names = Counter(step.name for step in one.path)
    listed = [f"{name} ({n} times)" if n > 1 else name for name, n in names.items()]
    more = f" and {len(listed) - 6} more" if len(listed) > 6 else ""
    return f"longest path: {', '.join(listed[:6])}{more}: {duration(seconds)}"


def _of_lane(name):
    """ "step" for "Env#3.step", "f" for "task:f"."""
    return name.rpartition(".")[2] if "#" in name else name.removeprefix("task:")


def _caller(one):
    return f"own code {duration(one.own)}, wait {duration(one.wait)}"


def _lanes(one):
    """(the Lanes to draw, number of those left out); the ones on the path first of all."""
    found = defaultdict(list)
    for step in one.steps:
        found[step.lane].append(step)
    lanes = [Lane(name, tuple(steps)) for name, steps in found.items()]
    if len(lanes) <= _MOST:
        return lanes, 0
    chosen = sorted(lanes, key=lambda lane: not any(step.on_path for step in lane.steps))[:_MOST]
    return [lane for lane in lanes if lane in chosen], len(lanes) - _MOST


def _span(one):
    return max([one.total, *(step.end for step in one.steps)]) or 1.0


def _lines(one):
    lanes, more = _lanes(one)
    width = max(len(name) for name in [one.pattern.caller, *(lane.name for lane in lanes)])
    scale = _COLUMNS / _span(one)
    own = round(one.own * scale)
    bar = "=" * own + "." * (round(one.total * scale) - own)
    yield title(one)
    yield f"{one.pattern.caller.ljust(width)} |{bar.ljust(_COLUMNS)}| {_caller(one)}"
    for lane in lanes:
        bar = [" "] * _COLUMNS
        for step in lane.steps:
            first = min(int(step.start * scale), _COLUMNS - 1)
            last = max(first + 1, min(round(step.end * scale), _COLUMNS))
            bar[first:last] = ("*" if step.on_path else "#") * (last - first)
        yield f"{lane.name.ljust(width)} |{''.join(bar)}| {lane.facts}"
    if more:
        yield f"and {more:,} more processes"
    if found := path_text(one):
        yield found


def _svg(one):
    lanes, more = _lanes(one)
    scale = _BARS / _span(one)
    rows = [
        _name(0, one.pattern.caller),
        _bar(0, 0.0, one.own, scale, _OWN, f"own code: {duration(one.own)}"),
        _bar(0, one.own, one.total, scale, _WAIT, f"wait: {duration(one.wait)}"),
        _fact(0, _caller(one)),
    ]
    for row, lane in enumerate(lanes, 1):
        rows.append(_name(row, lane.name))
        for step in lane.steps:
            note = f"{step.name}: {duration(step.end - step.start)}  {step.site}"
            rows.append(_bar(row, step.start, step.end, scale, _PATH if step.on_path else _STEP, note))
        rows.append(_fact(row, lane.facts))
    last = [f"and {more:,} more processes"] if more else []
    last += [found] if (found := path_text(one)) else []
    height = _HEIGHT * (len(lanes) + 1 + bool(last))
    if last:
        rows.append(_text(_LEFT, len(lanes) + 1, _MUTED, "; ".join(last)))
    return f'<svg viewBox="0 0 {_LEFT + _BARS + _RIGHT} {height}" role="img">\n' + "\n".join(rows) + "\n</svg>"


def _bar(row, start, end, scale, colour, note):
    x, width = _LEFT + start * scale, max((end - start) * scale, 1.0)
    return (
        f'<rect x="{x:.2f}" y="{row * _HEIGHT + 3}" width="{width:.2f}" height="{_HEIGHT - 6}" fill="{colour}">'
        f"<title>{escape(note)}</title></rect>"
    )


def _name(row, name):
    return _text(0, row, _INK, name if len(name) <= 24 else f"{name[:11]}…{name[-12:]}")


def _fact(row, facts):
    return _text(_LEFT + _BARS + 10, row, _MUTED, facts)


def _text(x, row, colour, content):
    return f'<text x="{x}" y="{row * _HEIGHT + 14}" font-size="11" fill="{colour}">{escape(content)}</text>'
