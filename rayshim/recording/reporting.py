"""The classes that `rayshim.report()` and `rayshim.graph()` return."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reactor.printable import printable
from reactor.recording.patterns import Divergence

from rayshim.recording.repeatability import Repeatable

if TYPE_CHECKING:
    from reactor.draw.timings import Timings
    from reactor.model.graph import Graph
    from reactor.recording.patterns import Recording

_COUNTS = (
    "patterns",
    "pattern_runs",
    "calls_total",
    "calls_in_patterns",
    "physical_answers",
    "bytes_typed",
    "bytes_pickled",
    "wakes",
    "sleeps",
)

_SHOWN = 20  # divergences in the printed table


class Report:
    """Counts of a run. `print` shows them as a short table; `to_dict()` returns them.

    Keys of `to_dict()`:
        patterns, pattern_runs: learned patterns (the calls of one caller between two waits), and how often they ran.
        calls_total, calls_in_patterns: calls that were made, and those of them that followed a pattern.
        bytes_typed, bytes_pickled: bytes of arguments and results that were copied as raw data, and that were pickled.
        wakes, sleeps: how often a process woke another one, and how often one went to sleep.
        physical_answers: results that depend on timing: calls of `get` whose time was up, calls of `wait` with a timeout, `kill`,
            `cancel`; in logical order each change of calls to arrival order, and each `wait` that returned in arrival order.
        divergences: the places where the program left a pattern, as Divergence objects. Each is counted once: the new branch is
            learned, and followed when the program takes it again.
        placement: the session's placement, and with `init(placement="auto")` why it was chosen; "" if not known.
        arrivals: calls and places of `wait` that ran in arrival order although logical order was asked for, [{"what": str, "times": int}]. An entry about
            calls has "by" and "while", the caller and the unfinished call for which it does not wait any more, and "calls", the called methods.
        repeatable: {"reasons": [[what, place, times]], "notes": [str]}, see `Repeatable`.

    Arguments:
        data: a mapping with some of these keys; a missing count is 0.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        unknown = set(data) - {*_COUNTS, "placement", "divergences", "arrivals", "repeatable"}
        if unknown:
            raise ValueError(
                f"Report: unknown keys {sorted(unknown)}. The keys are {', '.join(_COUNTS)}, placement, divergences, arrivals and repeatable"
            )
        self._counts = {name: int(data.get(name, 0)) for name in _COUNTS}
        self.placement: str = data.get("placement", "")
        self.arrivals: tuple[dict[str, Any], ...] = tuple(data.get("arrivals", ()))
        self.repeatable: Repeatable = Repeatable(**data.get("repeatable", {}))
        listed = data.get("divergences", ())
        self.divergences: tuple[Divergence, ...] = tuple(
            d if isinstance(d, Divergence) else Divergence(**d) for d in listed
        )

    def to_dict(self) -> dict[str, Any]:
        """All counts, `placement`, `divergences` and `arrivals` as lists of dicts, and `repeatable` as a dict."""
        return {
            **self._counts,
            "placement": self.placement,
            "arrivals": list(self.arrivals),
            "repeatable": self.repeatable.to_dict(),
            "divergences": [asdict(divergence) for divergence in self.divergences],
        }

    @property
    def share_in_patterns(self) -> float:
        """Share of the calls that followed a pattern, a float from 0 to 1; 0 if no call was made."""
        return self._counts["calls_in_patterns"] / (self._counts["calls_total"] or 1)

    def __str__(self) -> str:
        from reactor.draw.timings import size

        c = self._counts
        rows = [
            ("patterns learned", f"{c['patterns']:,}, run {c['pattern_runs']:,} times"),
            ("calls", f"{c['calls_total']:,}"),
            ("  followed a pattern", f"{c['calls_in_patterns']:,} ({self.share_in_patterns:.1%})"),
            ("bytes copied raw", size(c["bytes_typed"]) or "0 B"),
            ("bytes pickled", size(c["bytes_pickled"]) or "0 B"),
            (
                "wake-ups, sleeps",
                f"{c['wakes']:,}, {c['sleeps']:,} ({c['wakes'] / (c['pattern_runs'] or 1):.2g} wake-ups per pattern run)",
            ),
            ("physical answers", f"{c['physical_answers']:,}"),
            ("divergences", f"{len(self.divergences):,}"),
        ]
        rows += [("placement", self.placement)] if self.placement else []
        rows += [("in arrival order", f"{arrival['what']}") for arrival in self.arrivals]
        rows += [("not repeatable", str(reason)) for reason in self.repeatable.reasons]
        width = max(len(name) for name, _ in rows)
        lines = [f"{name.ljust(width)}  {value}" for name, value in rows]
        shown = sorted(self.divergences, key=lambda divergence: -divergence.count)[:_SHOWN]
        lines += [f"  {divergence}" for divergence in shown]
        if len(self.divergences) > _SHOWN:
            lines.append(f"  and {len(self.divergences) - _SHOWN:,} more places; to_dict() has them all")
        return "\n".join(map(printable, lines))

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}={value}" for name, value in self._counts.items() if value)
        return f"<Report {counts}, {len(self.divergences)} divergences>"


class RecordedGraph:
    """The graph of the learned patterns of calls.

    Arguments:
        recording: a `reactor.recording.patterns.Recording`.
        seconds: {qualified name of a method, such as "Env#3.step": seconds that it ran}, where measured.
        wall: seconds of the whole run; default: the time of the busiest caller in the recording.

    The argument `fold` of its methods: if more than `fold` actors are alike, they are drawn as one; None draws every actor.
    """

    def __init__(
        self, recording: Recording, seconds: dict[str, float] | None = None, wall: float | None = None
    ) -> None:
        from reactor.draw.timings import Timings
        from reactor.recording.graph import graph_of

        self.recording: Recording = recording
        self.graph: Graph = graph_of(recording)
        self.timings: Timings = Timings.from_recording(recording, seconds, wall)

    def text(self, **fold: int | None) -> str:
        """Plain text, level by level."""
        from reactor.draw.text import render

        return render(self.graph, self.timings, **fold)

    def mermaid(self, **fold: int | None) -> str:
        """Mermaid's flowchart language."""
        from reactor.draw.mermaid import render

        return render(self.graph, self.timings, **fold)

    def dot(self, **fold: int | None) -> str:
        """Graphviz's language."""
        from reactor.draw.dot import render

        return render(self.graph, self.timings, **fold)

    def html(self, path: str | os.PathLike[str] | None = None, title: str = "rayshim graph", **fold: int | None) -> str:
        """An HTML page (str) that needs no network, also written to `path` if given: the graph, and below it the `rounds`.
        Needs `pip install "rayshim[graph]"`."""
        from reactor.draw.html import render

        page = render(self.graph, self.timings, title=title, rounds=self._rounds(), **fold)
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def advice(self, cores: int | None = None) -> list[str]:
        """A list of sentences (str) that say what limits the speed of the program, and what would make it faster. Arguments: cores, of the
        machine; default: of this one."""
        from rayshim.recording.advice import advise

        advice = advise(
            self.recording, cores or os.cpu_count() or 1, "packed" if self.recording.workers else "isolated"
        )
        return [printable(sentence, lines=True) for sentence in advice]

    def rounds(self, cores: int | None = None) -> str:
        """The repeated rounds of calls that take most of the driver's time, as text: a line for each process, with the calls that it runs in an
        average round. `=` is the driver's own code, `.` its wait, `#` a call, `*` a call on the longest path: the calls that have to run one
        after the other and take longest. "" if no round was repeated.

        Each call is drawn with its mean time, from the moment at which its arguments are there and its process is free. A wait is longer than
        its calls because of wake-ups, the passing of values, and waiting for a core.

        Arguments: cores, of the machine; default: of this one."""
        from reactor.draw.lanes import text

        return printable(text(self._rounds(cores)), lines=True)

    def _rounds(self, cores=None):
        from reactor.recording.rounds import main_rounds

        return main_rounds(self.recording, cores or os.cpu_count() or 1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the patterns, with their measurements, to `path` as JSON. `rayshim.packed(recording=path)` uses it to place the actors of a later run."""
        Path(path).write_text(json.dumps(self.recording.to_dict()), encoding="utf-8")

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<RecordedGraph of {len(self.graph.reactors)} reactors, {len(self.graph.reactions)} reactions>"
