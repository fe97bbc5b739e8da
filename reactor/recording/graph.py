"""Makes the reactor graph of a recording, and the plan of a pattern.

The graph has one reactor per actor, task function and caller, and one reaction per (reactor, method). A caller has two reactions per pattern: one
makes the operations of the pattern, and one, for the wait at its end, takes the results. Values within a pattern flow at one tag. A value from
an earlier pattern flows through a connection whose delay is the number of patterns. If calls within a pattern form a cycle (f on A, its result to
g on B, the result of that back to f on A), the connection that closes the cycle arrives a microstep later.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from reactor.model import graph as g
from reactor.recording.patterns import PICKLE, WAITS

TYPE_CHECKING = False  # like that of typing, without the import
if TYPE_CHECKING:
    from reactor.plan import Plan
    from reactor.recording.patterns import Pattern, Recording


def graph_of(recording: Recording) -> g.Graph:
    """The Graph of a `reactor.recording.patterns.Recording`; delays are in patterns."""
    callers = _Callers(recording)
    reactors = _declare(recording, callers)
    for reactor, reaction in (callers.issuer[i] for i in callers.entries if callers.is_root(i)):
        reactors[reactor].reactions[reaction].triggers["startup"] = None
    wires = list(_wires(recording, callers, reactors))
    _connect_inputs(reactors, wires)
    _delay_cycles(reactors, wires)
    connections = tuple(
        g.Connection(f"{w.writer}.{w.output}", f"{w.reader[0]}.{w.input}", w.delay, max(w.counts.values()), w.site)
        for w in wires
    )
    return g.Graph(tuple(reactor.finished() for reactor in reactors.values()), connections, "patterns")


def plan_of(pattern: Pattern) -> Plan:
    """The Plan of one run of a pattern: a step for each operation, in their order, with a worker for each actor and for each task and put.

    A step waits for the operations whose results it takes, and for the one before it of its actor.
    """
    from reactor.plan import Step, Value, flow, make, worker_of_each_reactor

    def output(k, number):
        return Value(k, number if len(pattern.operations[k].results) > 1 else None)

    def argument(source):
        inside = source.kind in ("operation", "put") and source.pattern == 0
        return output(source.operation, source.output) if inside else Value(str(source))

    steps = [
        Step(
            reactor=operation.target if "#" in operation.target else f"{operation.target} {k}",
            reaction=operation.reaction,
            arguments=tuple(map(argument, operation.sources)),
            stores=tuple(output(k, number) for number in range(len(operation.results))),
            name=operation.name,
            site=operation.site,
        )
        for k, operation in enumerate(pattern.operations)
    ]
    return make(flow(steps), worker_of_each_reactor, by_level=False)


def activity(recording: Recording) -> tuple[dict[str, int], dict[str, float]]:
    """({qualified reaction: times that it ran}, {qualified reaction of a caller: seconds in its patterns}) of a recording."""
    callers = _Callers(recording)
    runs, seconds = Counter(), Counter()
    called = set(callers.known.values())
    for i, pattern in enumerate(recording.patterns):
        mine = [where for where in (callers.issuer[i], callers.taker.get(i)) if where and where not in called]
        theirs = [callers.known[operation.name] for operation in pattern.operations if not operation.is_put]
        for reactor, reaction in (*mine, *theirs):
            runs[f"{reactor}.{reaction}"] += pattern.runs
        seconds[".".join(callers.issuer[i])] += pattern.seconds  # pyright: ignore[reportArgumentType]  a Counter takes floats, too
    return dict(runs), {name: spent for name, spent in seconds.items() if spent}


class _Reactor:
    def __init__(self, name, site, kind):
        self.name, self.site, self.kind = name, site, kind
        self.inputs, self.outputs, self.reactions = {}, {}, {}

    def finished(self):
        reactions = tuple(
            g.Reaction(r.name, r.triggers, r.effects, (), r.mode, r.site) for r in self.reactions.values()
        )
        return g.Reactor(
            self.name,
            tuple(self.inputs.values()),
            tuple(self.outputs.values()),
            reactions,
            self.kind,
            self.site,  # pyright: ignore[reportArgumentType]
        )


class _Reaction:
    def __init__(self, name, site, mode=None):
        self.name, self.site, self.mode = name, site, mode
        self.triggers, self.effects = {}, {}  # dicts for their order


class _Wire:
    """A connection in the making: output port of the reactor `writer` to an input of the reaction `reader`."""

    def __init__(self, writer, output, reader, port, delay, site):
        self.writer, self.output, self.reader, self.port = writer, output, reader, port
        self.delay, self.site, self.input = delay, site, ""
        self.counts = Counter()  # messages in each pattern


class _Callers:
    """For each pattern: the reaction, as (reactor, name), that makes its operations, and the reaction that takes the results at its end."""

    def __init__(self, recording):
        self.patterns = recording.patterns
        self.before = _predecessors(recording)
        self.known = {}  # qualified name of a reaction that some operation calls: (reactor, name)
        for pattern in recording.patterns:
            for operation in pattern.operations:
                if not operation.is_put:
                    self.known.setdefault(operation.name, (operation.target, operation.reaction))
        self.issuer, self.taker = {}, {}
        self.entries = []  # patterns with which a caller may begin
        for i, pattern in enumerate(recording.patterns):
            reactor, method = self.known.get(pattern.caller) or (pattern.caller, "")
            first = all(earlier >= i for earlier in self.before.get(i, ()))  # else it was reached from an earlier one
            if first:
                self.entries.append(i)
            prefix = f"{method} " if method else ""
            self.issuer[i] = (reactor, method) if method and first else (reactor, f"{prefix}pattern {i}")
            if pattern.ends in WAITS:
                self.taker[i] = (reactor, f"{prefix}{pattern.ends} {i}")

    def is_root(self, i):
        """Whether no operation in the recording calls the caller of pattern i."""
        return self.patterns[i].caller not in self.known

    def finishers(self, reaction):
        """The reactions that write the results of `reaction`: those of its last patterns, or itself."""
        ends = [
            self.issuer[i]
            for i, s in enumerate(self.patterns)
            if s.ends not in WAITS and self.known.get(s.caller) == reaction
        ]
        return ends or [reaction]


def _declare(recording, callers):
    reactors = {}
    called = set(callers.known.values())

    def declare(where, site, mode=None):
        name, reaction = where
        kind = (
            "caller"
            if name not in {reactor for reactor, _ in called}
            else "tasks"
            if name.startswith("task:")
            else "actor"
        )
        reactor = reactors.setdefault(name, _Reactor(name, site, kind))
        reactor.reactions.setdefault(reaction, _Reaction(reaction, site, mode))

    for i, pattern in enumerate(recording.patterns):
        site = pattern.operations[0].site if pattern.operations else pattern.end_site
        declare(callers.issuer[i], site, None if callers.issuer[i] in called else f"pattern {i}")
        if i in callers.taker:
            declare(callers.taker[i], pattern.end_site or site, f"pattern {i}")
        for operation in pattern.operations:
            if not operation.is_put:
                declare(callers.known[operation.name], operation.site)
    return reactors


def _wires(recording, callers, reactors):
    """All connections, in order of first use and then those from pattern to pattern; declares the outputs."""

    def output(reactor, name, writers, layout, size, site):
        port = reactors[reactor].outputs.get(name)
        if port:
            layouts = dict.fromkeys((*port.layout.split(" | "), layout))
            port = g.Port(name, " | ".join(filter(None, layouts)), max(port.bytes, size), port.site)
        reactors[reactor].outputs[name] = port or g.Port(name, layout, size, site)
        for owner, reaction in writers:
            reactors[owner].reactions[reaction].effects[name] = None
        return name

    used = _uses(recording)
    wires = {}

    def wire(pattern, writer, name, reader, port, delay, site, count=1):
        key = writer, name, reader, port, delay
        wires.setdefault(key, _Wire(*key, site)).counts[pattern] += count

    for i, pattern in enumerate(recording.patterns):
        issuer = callers.issuer[i]
        for k, operation in enumerate(pattern.operations):
            if operation.is_put:
                name = f"pattern {i} put {k}"
                output(
                    issuer[0], name, [issuer], operation.results[0].layout, operation.results[0].bytes, operation.site
                )
            else:
                reaction = callers.known[operation.name]
                plain = [source for source in operation.sources if source.kind == "value"]
                layout = ", ".join(source.layout or PICKLE for source in plain)
                name = f"pattern {i} {operation.name}"
                output(issuer[0], name, [issuer], layout, sum(source.bytes for source in plain), operation.site)
                wire(i, issuer[0], name, reaction, f"{reaction[1]}.call", None, operation.site)
            for number, result in enumerate(operation.results):
                if not operation.is_put:
                    name = _result_port(reaction[1], operation, number)
                    output(reaction[0], name, callers.finishers(reaction), result.layout, result.bytes, operation.site)
                for use in used.get((i, k, number), ()):
                    _wire_use(
                        wire, recording, callers, use, issuer[0] if operation.is_put else reaction[0], name, operation
                    )
    for i, j in recording.successors:
        source, target = callers.taker.get(i) or callers.issuer[i], callers.issuer[j]
        site = reactors[target[0]].reactions[target[1]].site
        name = output(source[0], f"{source[1]} done", [source], "", 0, site)
        delay = 1 if callers.is_root(i) else None
        wire(j, source[0], name, target, f"{target[1]}.after", delay, site, recording.successors[i, j])
    return wires.values()


def _wire_use(wire, recording, callers, use, writer, port, operation):
    if use.operation is None:
        if operation.is_put or use.pattern not in callers.taker:
            return  # the caller has its own value already
        reader, into = callers.taker[use.pattern], f"{callers.taker[use.pattern][1]}.result"
        site = recording.patterns[use.pattern].end_site or operation.site
    else:
        consumer = recording.patterns[use.pattern].operations[use.operation]
        if consumer.is_put:
            return
        reader = callers.known[consumer.name]
        into, site = f"{reader[1]}.{use.argument}", consumer.site
    wire(use.pattern, writer, port, reader, into, use.back or None, site)


def _result_port(method, operation, number):
    return f"{method}.result" if len(operation.results) == 1 else f"{method}.result[{number}]"


def _connect_inputs(reactors, wires):
    """An input per wire: ports take one connection each, so the second and later of one argument are channels [1], [2], ..."""
    channels = defaultdict(int)
    for wire in wires:
        owner, reaction = wire.reader
        channel = channels[owner, wire.port]
        channels[owner, wire.port] += 1
        wire.input = f"{wire.port}[{channel}]" if channel else wire.port
        source = reactors[wire.writer].outputs[wire.output]
        reactors[owner].inputs[wire.input] = g.Port(wire.input, source.layout, source.bytes, wire.site)
        reactors[owner].reactions[reaction].triggers[wire.input] = None


def _delay_cycles(reactors, wires):
    """Gives delay 0 to each wire that would close a circle with those before it."""
    after = defaultdict(set)
    writers = defaultdict(list)
    for reactor in reactors.values():
        for earlier, later in g.precedences(reactor.reactions.values()):
            after[reactor.name, earlier.name].add((reactor.name, later.name))
        for reaction in reactor.reactions.values():
            for name in reaction.effects:
                writers[reactor.name, name].append((reactor.name, reaction.name))
    for wire in wires:
        if wire.delay is None:
            sources = writers[wire.writer, wire.output]
            if _reached(after, wire.reader).isdisjoint(sources):
                for source in sources:
                    after[source].add(wire.reader)
            else:
                wire.delay = 0


def _reached(after, start):
    seen, left = {start}, [start]
    while left:
        for following in after.get(left.pop(), ()):
            if following not in seen:
                seen.add(following)
                left.append(following)
    return seen


@dataclass(frozen=True)
class _Use:
    """One use of a result: by argument `argument` of operation `operation` of pattern `pattern`, `back` patterns later.

    `operation` is None if the caller itself gets the result at the end of that pattern.
    """

    pattern: int
    operation: int | None
    argument: int
    back: int


def _uses(recording):
    """{(pattern, operation, output): [_Use, ...]} over all results and puts of `recording`, in order of use.

    If the recording does not contain the results that the end of a pattern asked for, all results of that pattern that no operation uses are
    assumed.
    """
    before = _predecessors(recording)
    found = defaultdict(list)

    def add(i, k, argument, source):
        if source.kind not in ("operation", "put"):
            return
        for producer in _back(before, i, -source.pattern):
            operations = recording.patterns[producer].operations
            if source.operation < len(operations) and source.output < len(operations[source.operation].results):
                found[producer, source.operation, source.output].append(_Use(i, k, argument, -source.pattern))

    for i, pattern in enumerate(recording.patterns):
        for k, operation in enumerate(pattern.operations):
            for argument, source in enumerate(operation.sources):
                add(i, k, argument, source)
        for argument, source in enumerate(pattern.gets or ()):
            add(i, None, argument, source)
    for i, pattern in enumerate(recording.patterns):
        if pattern.gets is None and pattern.ends in WAITS:
            for k, operation in enumerate(pattern.operations):
                for output in range(len(operation.results)):
                    if not operation.is_put and (i, k, output) not in found:
                        found[i, k, output].append(_Use(i, None, k, 0))
    return dict(found)


def _predecessors(recording):
    """{pattern: the patterns that it has followed}"""
    before = defaultdict(set)
    for i, j in recording.successors:
        before[j].add(i)
    return before


def _back(before, pattern, steps):
    """The patterns from which `pattern` is reached in `steps` steps."""
    reached = {pattern}
    for _ in range(steps):
        reached = {earlier for one in reached for earlier in before.get(one, ())}
    return sorted(reached)
