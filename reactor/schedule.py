"""Plans: for a segment, everything about its operations that is the same at each replay."""

from collections import defaultdict
from dataclasses import dataclass

from reactor.flow import uses
from reactor.record import WAITS, Recording, Segment, Source


@dataclass(frozen=True)
class Channel:
    """A channel from a caller to a process. `process` None: the process is chosen at each call."""

    caller: str
    process: int | None

    def __str__(self):
        return f"{self.caller} -> {'any' if self.process is None else self.process}"


@dataclass(frozen=True)
class PlannedResult:
    """A result or put value: its layout, its bytes, and its consumers.

    Attributes:
        consumers: (number of segments later, operation) for each operation that has it as an argument.
        to_caller: whether the caller itself gets it within the recording.
    """

    layout: str
    bytes: int
    typed: bool
    consumers: tuple[tuple[int, int], ...]
    to_caller: bool

    @property
    def direct(self):
        """Whether only other operations use it, and never the caller."""
        return bool(self.consumers) and not self.to_caller

    def __str__(self):
        to = [f"#{k}" if not later else f"#{k}+{later}" for later, k in self.consumers] + ["caller"] * self.to_caller
        return f"{self.layout or '?'} to {', '.join(to) or 'nobody'}{' (direct)' if self.direct else ''}"


@dataclass(frozen=True)
class PlannedOperation:
    """An operation of a plan.

    Attributes:
        channel: None for a put.
        first, last: whether it is the first or the last operation of the segment on its channel.
        level: 0 for a put; otherwise one more than the highest level of the operations that it needs or that its process runs before it.
        arguments: a Source per argument.
    """

    index: int
    name: str
    site: str
    channel: Channel | None
    first: bool
    last: bool
    level: int
    arguments: tuple[Source, ...]
    results: tuple[PlannedResult, ...]


@dataclass(frozen=True)
class Wake:
    """A process that sleeps until the result of operation `by` is ready; `by` None: until the caller's message arrives."""

    process: int | None
    by: int | None


@dataclass(frozen=True)
class Plan:
    """The plan of a segment. It prints as a table with a line per operation.

    Attributes:
        levels: indices of the operations at each level; level 0 has the puts.
        wakes: the processes to wake, in order of level, under the assumption that all operations take the same time. A process is listed each time
            it has to wait.
        caller_waits: whether the caller sleeps at the end.
    """

    caller: str
    ends: str
    operations: tuple[PlannedOperation, ...]
    levels: tuple[tuple[int, ...], ...]
    wakes: tuple[Wake, ...]
    caller_waits: bool

    @property
    def expected_wakes(self):
        """Wake-ups in one run, the caller's included."""
        return len(self.wakes) + self.caller_waits

    @property
    def woken_by_caller(self):
        """The processes that the caller wakes. The others are woken by the process whose result they wait for."""
        return tuple(wake.process for wake in self.wakes if wake.by is None)

    def __str__(self):
        rows = [("#", "level", "operation", "channel", "order", "arguments", "results")]
        for p in self.operations:
            order = " ".join(word for word, true in (("first", p.first), ("last", p.last)) if true)
            arguments, results = ", ".join(map(str, p.arguments)), ", ".join(map(str, p.results))
            rows.append((str(p.index), str(p.level), p.name, str(p.channel or ""), order, arguments, results))
        widths = [max(map(len, column)) for column in zip(*rows)]
        table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        wakes = f"{self.expected_wakes} wake-ups expected"
        head = f"{self.caller}: {len(self.operations)} operations, then {self.ends}; {len(self.levels)} levels, {wakes}"
        return "\n".join([head, *table])


def plan(segment: Segment, recording: Recording | None = None) -> Plan:
    """The plan of `segment`, which is a segment of `recording`. Without a recording, it is treated as the only segment."""
    recording = recording or Recording((segment,))
    return _plan(segment, recording.segments.index(segment), uses(recording))


def plans(recording: Recording) -> tuple[Plan, ...]:
    """A plan per segment of `recording`."""
    used = uses(recording)
    return tuple(_plan(segment, i, used) for i, segment in enumerate(recording.segments))


def _plan(segment, here, used):
    operations = segment.operations
    levels = _levels(operations)
    on_channel = defaultdict(list)
    for k, operation in enumerate(operations):
        if not operation.is_put:
            on_channel[_lane(k, operation)].append(k)
    planned = []
    for k, operation in enumerate(operations):
        lane = on_channel.get(_lane(k, operation), ())
        results = tuple(_result(operation, k, n, used.get((here, k, n), ())) for n in range(len(operation.results)))
        channel = None if operation.is_put else Channel(segment.caller, operation.process)
        first, last = (lane[0] == k, lane[-1] == k) if lane else (False, False)
        planned.append(
            PlannedOperation(
                k, operation.name, operation.site, channel, first, last, levels[k], operation.sources, results
            )
        )
    by_level = tuple(
        tuple(k for k, at in enumerate(levels) if at == level) for level in range(1 + max(levels, default=-1))
    )
    asked = segment.gets is None or any(source.kind == "operation" for source in segment.gets)
    waits = segment.ends in WAITS and asked and segment.calls > 0
    return Plan(segment.caller, segment.ends, tuple(planned), by_level, _wakes(operations, levels, on_channel), waits)


def _lane(k, operation):
    """The key of operations that run one after the other: their process, or, if the process is chosen at the call, this operation alone."""
    return ("any", k) if operation.process is None else operation.process


def _needs(operation):
    """Indices of the operations of the same segment whose results `operation` takes."""
    return [source.operation for source in operation.sources if source.kind == "operation" and source.segment == 0]


def _levels(operations):
    levels, busy = [], {}
    for k, operation in enumerate(operations):
        if operation.is_put:
            levels.append(0)
            continue
        lane = _lane(k, operation)
        levels.append(1 + max([0, busy.get(lane, 0), *(levels[other] for other in _needs(operation))]))
        busy[lane] = levels[-1]
    return levels


def _wakes(operations, levels, on_channel):
    wakes = []
    for lane, indices in on_channel.items():
        before = None
        for k in indices:
            if before is None or levels[k] > levels[before] + 1:
                others = [n for n in _needs(operations[k]) if _lane(n, operations[n]) != lane]
                by = max(others, key=levels.__getitem__, default=None)
                wakes.append((levels[k], k, Wake(operations[k].process, by)))
            before = k
    return tuple(wake for _, _, wake in sorted(wakes, key=lambda entry: entry[:2]))


def _result(operation, k, number, found):
    result = operation.results[number]
    consumers = tuple((use.back, use.operation) for use in found if use.operation is not None)
    to_caller = any(use.operation is None for use in found)
    return PlannedResult(result.layout, result.bytes, result.typed, tuple(dict.fromkeys(consumers)), to_caller)
