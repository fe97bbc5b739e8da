"""The recording of a run: operations in patterns, and patterns in the order in which they followed each other.

A caller's operations between two points where it waits are one pattern. These classes are the plain data that the
recorder hands over; the graph (`reactor.recording.graph`) and average runs (`reactor.recording.rounds`) are computed from them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

TYPE_CHECKING = False  # like that of typing, without the import
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PUT = "put"  # the target of an operation that only stores a value
CREATION = "__init__"  # the method of an operation that makes an actor
PICKLE = "pickle"  # the layout of a value that has no typed layout
KINDS = ("operation", "put", "value", "outside")
WAITS = ("get", "wait")  # the ends of a pattern at which its caller waits


@dataclass(frozen=True)
class Source:
    """The origin of an argument.

    Attributes:
        kind: "operation" (the result of one), "put" (what one stored), "value" (a plain value, copied into the message) or
            "outside" (a result from before the recording or from another caller).
        pattern: how many patterns back that operation is: 0 this one, -1 the one before it, ...
        operation: its index in that pattern; -1 for "value" and "outside".
        output: which of its results.
        layout: text such as "float32[4]", "int", "(float32[4], float, bool)", "pickle"; "" when not known.
        bytes: size of the value, 0 when not known.
    """

    kind: str
    pattern: int = 0
    operation: int = -1
    output: int = 0
    layout: str = ""
    bytes: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"Source of kind {self.kind!r}: the kinds are {', '.join(KINDS)}")
        if self.pattern > 0:
            raise ValueError(f"Source in pattern {self.pattern}: 0 is the same pattern, -1 the one before it")
        if self.kind in ("operation", "put") and self.operation < 0:
            raise ValueError(f"Source of kind {self.kind!r} needs the index of its operation, got {self.operation}")

    @property
    def typed(self) -> bool:
        return is_typed(self.layout)

    def __str__(self) -> str:
        if self.kind == "value":
            return self.layout or "value"
        if self.kind == "outside":
            return "a ref from outside"
        output = f"[{self.output}]" if self.output else ""
        back = {0: "", -1: " of the pattern before"}.get(self.pattern, f" of {-self.pattern} patterns before")
        return f"{'put ' if self.kind == 'put' else ''}#{self.operation}{output}{back}"


@dataclass(frozen=True)
class Result:
    """One result of an operation: its layout ("" when not known) and bytes."""

    layout: str = ""
    bytes: int = 0

    @property
    def typed(self) -> bool:
        return is_typed(self.layout)

    def __str__(self) -> str:
        return self.layout or "?"


@dataclass(frozen=True)
class Operation:
    """One call, task, creation or put.

    Attributes:
        target: qualified name of the reactor: "Env#3", "task:f", "put".
        method: name of the method; "" for a put.
        site: where it was issued, "path.py:41".
        sources: a Source per argument.
        results: a Result per result; for a put, what it stores (taken from its source if left out).
        process: number of the process that runs it; None when that is chosen at each call, and for a put.
    """

    target: str
    method: str
    site: str
    sources: tuple[Source, ...] = ()
    results: tuple[Result, ...] = ()
    process: int | None = None

    def __post_init__(self) -> None:
        if self.is_put and not self.results:
            stored = next((Result(source.layout, source.bytes) for source in self.sources), Result())
            object.__setattr__(self, "results", (stored,))

    @property
    def is_put(self) -> bool:
        return self.target == PUT

    @property
    def name(self) -> str:
        """As the caller writes it: "Env#3.step", "task:f"; "put"."""
        return reaction_name(self.target, self.method)

    @property
    def reaction(self) -> str:
        """The name in its reactor of the reaction that it triggers: "step"; "call" of a task."""
        return self.method or "call"

    @property
    def qualified(self) -> str:
        """Qualified name of that reaction, as in `Recording.measured`: "Env#3.step", "task:f.call"."""
        return reaction_name(self.target, self.reaction)

    def __str__(self) -> str:
        results = ", ".join(map(str, self.results)) or "nothing"
        return f"{self.name}({', '.join(map(str, self.sources))}) -> {results}   {self.site}"


@dataclass(frozen=True)
class Pattern:
    """The operations that a caller issued between two waits.

    Attributes:
        caller: "driver", or the qualified name of the running reaction: "Env#3.step", "task:f".
        ends: what ended it: "get", "wait", "end of task".
        runs: how often it ran, the first time included.
        seconds: the caller's time in it over all its runs, its final wait included.
        wakes, sleeps: processes woken, and times the caller slept, over all its runs.
        gets: what its final get or wait asked for. None when not known: then every result that no operation consumes.
        end_site: where it ended, "path.py:44"; "" when not known.
        waited: seconds of these that its final waits took.
    """

    caller: str
    operations: tuple[Operation, ...]
    ends: str = "get"
    runs: int = 1
    seconds: float = 0.0
    wakes: int = 0
    sleeps: int = 0
    gets: tuple[Source, ...] | None = None
    end_site: str = ""
    waited: float = 0.0

    @property
    def calls(self) -> int:
        """Operations that are not puts, in one run."""
        return sum(not operation.is_put for operation in self.operations)

    def __str__(self) -> str:
        end = self.ends + (f" at {self.end_site}" if self.end_site else "")
        head = f"{self.caller}: {len(self.operations)} operations, then {end}; ran {self.runs:,} times"
        return "\n".join([head, *(f"  #{k} {operation}" for k, operation in enumerate(self.operations))])


@dataclass(frozen=True)
class Divergence:
    """A place where a caller left its recording. The new branch is recorded, too, and followed from then on."""

    caller: str
    recorded: str  # "step.remote on Env#3", or what else the recording expected there
    seen: str
    recorded_site: str = ""
    seen_site: str = ""
    reason: str = ""
    count: int = 1  # how often the caller took the new branch

    def __str__(self) -> str:
        text = f"{self.recorded_site or self.caller} recorded {self.recorded}; {self.seen_site or self.caller} now {self.seen}"
        return (
            text
            + (f" ({self.reason})" if self.reason else "")
            + (f", taken {self.count:,} times" if self.count > 1 else "")
        )


@dataclass(frozen=True)
class Timing:
    """Calls of a reaction, and the seconds that it ran, None when not known."""

    calls: int
    seconds: float | None = None


@dataclass(frozen=True)
class Recording:
    """All patterns of a run.

    Attributes:
        patterns: in the order in which they were first seen.
        successors: {(i, j): times pattern j followed pattern i}, both of one caller and, in a task, of one run of it.
        divergences: in the order in which they were first seen.
        counters: the runtime's own counts by name, such as "bytes_typed".
        measured: {qualified reaction: Timing}, by the processes that ran it.
        workers: {actor: number of its worker}, of actors that share a process.
    """

    patterns: tuple[Pattern, ...] = ()
    successors: dict[tuple[int, int], int] = field(default_factory=dict)
    divergences: tuple[Divergence, ...] = ()
    counters: dict[str, float] = field(default_factory=dict)
    measured: dict[str, Timing] = field(default_factory=dict)
    workers: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """This recording as lists, dicts, str and numbers: what `json.dumps` takes."""
        return {
            "patterns": [_listed(asdict(pattern)) for pattern in self.patterns],
            "successors": [[i, j, count] for (i, j), count in self.successors.items()],
            "divergences": [asdict(divergence) for divergence in self.divergences],
            "counters": dict(self.counters),
            "measured": {name: asdict(timing) for name, timing in self.measured.items()},
            "workers": dict(self.workers),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Recording:
        """The recording that `to_dict` gave."""
        return cls(
            patterns=tuple(map(_pattern, data.get("patterns", ()))),
            successors={(i, j): count for i, j, count in data.get("successors", ())},
            divergences=tuple(Divergence(**fields) for fields in data.get("divergences", ())),
            counters=dict(data.get("counters", {})),
            measured={name: Timing(**timing) for name, timing in data.get("measured", {}).items()},
            workers=dict(data.get("workers", {})),
        )

    def __str__(self) -> str:
        lines = [f"{len(self.patterns)} patterns, {len(self.divergences)} divergences"]
        lines += [f"[{i}] {pattern}" for i, pattern in enumerate(self.patterns)]
        lines += [f"[{j}] followed [{i}] {count} times" for (i, j), count in self.successors.items()]
        return "\n".join([*lines, *map(str, self.divergences)])


def is_typed(layout: str) -> bool:
    """Whether a value of this layout is copied as raw bytes rather than pickled."""
    return layout not in ("", PICKLE)


def reaction_name(target: str, method: str) -> str:
    return f"{target}.{method}" if method else target


def _pattern(fields):
    gets = fields.get("gets")
    operations = tuple(map(_operation, fields["operations"]))
    return Pattern(**{**fields, "operations": operations, "gets": None if gets is None else _sources(gets)})


def _operation(fields):
    results = tuple(Result(**result) for result in fields.get("results", ()))
    return Operation(**{**fields, "sources": _sources(fields.get("sources", ())), "results": results})


def _sources(listed):
    return tuple(Source(**source) for source in listed)


def _listed(value):
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, tuple) else value
