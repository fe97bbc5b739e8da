"""A trace: each reaction that ran, with its tag and the present ports; for people, for comparison, and for Perfetto."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from reactor.execution.stored import plain
from reactor.model.elements import Action, Port

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from reactor.model.elements import Reaction

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class Trace:
    """The trace of a run.

    Attributes:
        entries: (nanoseconds since the start, microstep, reaction, {port or action: its value as text}) in the order of the run.
            Values before the reaction of what it reads, after it of what it writes.
        spans: (reaction, physical start, physical end) in nanoseconds, of the same entries.
    """

    def __init__(self) -> None:
        self.entries: list[tuple[int, int, str, dict[str, str]]] = []
        self.spans: list[tuple[str, int, int]] = []
        self._loop: Any = None

    def begin(self, loop: Any) -> None:
        self._loop = loop

    def around(self, loop: Any, reaction: Reaction, call: Callable[[], object]) -> Callable[[], None]:
        reads = _labelled(loop, reaction, (*reaction.triggers, *reaction.sources))
        writes = _labelled(loop, reaction, reaction.effects)

        def traced():
            seen = {label: _text(element.value) for label, element in reads if element.is_present}
            began = loop.physical()
            try:
                call()
            finally:
                seen |= {label: _text(element.value) for label, element in writes if element.is_present}
                self.entries.append((loop.time - loop.start, loop.microstep, reaction.path, seen))
                self.spans.append((reaction.path, began - loop.start, loop.physical() - loop.start))

        return traced

    def note(self, what: str, value: object) -> None:
        """An event of the program's own."""
        loop = self._loop
        now = loop.physical() - loop.start
        self.entries.append(
            (loop.time - loop.start, loop.microstep, what, {} if value is None else {"value": _text(value)})
        )
        self.spans.append((what, now, now))

    def lines(self) -> Iterator[str]:
        """A line per entry."""
        for time, microstep, path, seen in self.entries:
            values = "".join(f" {label}={value}" for label, value in seen.items())
            yield f"({time}, {microstep}) {path}{values}"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the lines, or for a name that ends in .json what Perfetto and chrome://tracing show."""
        with open(path, "w") as file:
            if not str(path).endswith(".json"):
                file.writelines(line + "\n" for line in self.lines())
                return
            events = [
                {"name": name, "ph": "X", "ts": began / 1e3, "dur": (ended - began) / 1e3, "pid": 1, "tid": name.rpartition(".")[0],
                 "args": {"tag": f"({time}, {microstep})", **seen}}
                for (name, began, ended), (time, microstep, _, seen) in zip(self.spans, self.entries)
            ]  # fmt: skip
            json.dump({"traceEvents": events}, file)


def _labelled(loop, reaction, elements):
    start = len(reaction.instance.path) + 1
    return [(one.path[start:], loop.wiring.root(one)) for one in elements if isinstance(one, (Port, Action))]


def _text(value):
    return _ADDRESS.sub("", repr(plain(value)))
