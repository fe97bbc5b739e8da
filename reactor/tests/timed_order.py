"""Timed order, written down as a model: one process, pure Python, no clock and no memory shared with anybody.

A program is made of strands: each driver, and each call that runs. A strand is a generator that yields operations (`Call`, `Get`, ...) and is sent what
they give. It has a clock, in ticks. From one operation to the next it needs a duration, which is fixed when this stretch begins and is at least one
tick. So what happens at one tick is independent of each other, and serial tags break ties.

`Run.in_time_order` is the reference: it goes from tick to tick, and at each of them does three things in this order:

1. operations: each strand whose time has come does what it yielded (messages are sent, calls end, strands block);
2. starts: each server with a free place takes its first ready message, by (ready key, serial tag), as long as it has places;
3. returns: each blocked strand whose answer is known at this tick goes on.

`Run.as_allowed` has no common clock. Strands run ahead of each other, as processes do, and whatever may happen next happens in any order. It gives the
same run, because a message starts, and a `wait` or a timeout is answered, only when nothing earlier can still come: when the bound of every other source
is greater. A bound is the least time at which a source may do something. `allowed` is this rule.

The rule follows the conservative simulation of discrete events (Chandy, Misra, "Distributed Simulation", 1979) and, in that it reads bounds and not
messages, the tag advance of Lingua Franca's federations (Bateni et al., "Risk and Mitigation of Nondeterminism in Distributed Cyber-Physical Systems", 2023).
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

TICK = 1
TIMED_OUT = "timed out"
TASKS = "tasks"  # the server of tasks

Tag = tuple[int, ...]


@dataclass(frozen=True)
class Call:
    """Sends a message to a server: the name of an actor, or TASKS. Gives a Ref. Refs among `arguments` are waited for; what is inside of a list is not."""

    server: Any
    method: str
    arguments: tuple = ()


@dataclass(frozen=True)
class Create:
    """Makes an actor with that state. Gives its name. Its constructor has no code."""

    state: Any


@dataclass(frozen=True)
class Put:
    """Gives a Ref to the value."""

    value: Any


@dataclass(frozen=True)
class Get:
    """Waits for one ref. Gives its value, or TIMED_OUT after `timeout` ticks."""

    ref: "Ref"
    timeout: int | None = None


@dataclass(frozen=True)
class Wait:
    """Gives the first `count` refs, in the order of the list, of those that are done when `count` are, or fewer after `timeout` ticks."""

    refs: Sequence["Ref"]
    count: int
    timeout: int | None = None


@dataclass(frozen=True)
class Sleep:
    """Takes exactly so many ticks."""

    ticks: int


@dataclass(frozen=True)
class End:
    """The strand returns. Made from the end of its generator."""

    value: Any


@dataclass(eq=False)
class Ref:
    tag: Tag
    done: int | None = None  # the tick at which its value was there
    value: Any = None


@dataclass(eq=False)
class Message:
    tag: Tag
    sent: int
    server: "Server"
    method: str
    arguments: tuple
    before: "Message | None"  # of the same caller to the same server
    result: Ref
    key: int | None = None  # once it has started

    def ready(self) -> int | None:
        """The key: the tick from which it could run. None as long as that is not known."""
        if self.key is not None:
            return self.key
        times = [self.sent, *(a.done for a in self.arguments if isinstance(a, Ref))]
        if self.before is not None:
            times.append(self.before.ready())
        return None if None in times else max(times)


@dataclass(frozen=True)
class Start:
    message: Message
    key: int
    at: int  # the tick


@dataclass(eq=False)
class Server:
    """An actor, or the pool that runs tasks."""

    name: Any
    state: Any
    places: int  # calls at a time
    lends: bool = False  # whether a call that blocks lends its place to others: so do tasks
    inbox: list[Message] = field(default_factory=list)
    running: int = 0  # calls that have a place and did not reach their end
    used: list[list] = field(default_factory=list)  # [from, until] of each use of a place; until None: not known yet
    last_start: int = 0
    free_since: int = 0  # with one place
    trace: list[tuple] = field(default_factory=list)  # (tag, start, state at the start) of each call

    def next_start(self) -> Start | None:
        """The start of the first of its ready messages. None: none is ready, or no place gets free before something else has happened."""
        ready = [(key, m.tag, m) for m in self.inbox if (key := m.ready()) is not None]
        if not ready:
            return None
        key, _, message = min(ready)
        at = self._place_from(key)
        return None if at is None else Start(message, key, at)

    def _place_from(self, key):
        """The first tick, from the key on, at which it has a place for one call more."""
        if self.places == 1 and not self.lends:
            return None if self.running else max(key, self.free_since)
        least = max(key, self.last_start)
        for at in sorted({least, *(until for _, until in self.used if until is not None and until > least)}):
            if sum(since <= at and (until is None or until > at) for since, until in self.used) < self.places:
                return at
        return None


@dataclass(eq=False)
class Strand:
    tag: Tag
    code: Any
    clock: int
    server: Server | None = None
    message: Message | None = None
    use: list | None = None  # of its server's places
    operation: Any = None
    at: int = 0  # when it does the operation
    stretches: int = 0
    calls: int = 0
    last: dict = field(default_factory=dict)  # server -> its last message to it


class Run:
    """One run of a program.

    Arguments:
        drivers: a generator function each; called without arguments.
        methods: {name: generator function}, called with (state of the actor, *arguments); each returns (new state, result). Tasks have no state.
        duration: gives the ticks of a stretch, from (tag of the strand, number of the stretch in it, operation that it leads to).
        latency: gives the ticks from when a blocked strand could go on to when it looks at what is done, from (tag of the strand, number of stretches
            so far). It looks once.
        cpus: how many tasks run at a time.
        states: {name of an actor that is there from the beginning: its state}
    """

    def __init__(
        self,
        drivers: Sequence[Callable],
        methods: dict,
        duration: Callable[[Tag, int, Any], int],
        latency: Callable[[Tag, int], int] = lambda _tag, _stretches: 0,
        cpus: int = 1,
        states: dict | None = None,
    ):
        self.methods, self.duration, self.latency = methods, duration, latency
        self.servers = {name: Server(name, state, 1) for name, state in (states or {}).items()}
        self.servers[TASKS] = Server(TASKS, None, cpus, lends=True)
        self.running: list[Strand] = []
        self.blocked: list[Strand] = []
        self.results = {}  # number of a driver -> what it returned
        for number, driver in enumerate(drivers):
            self._advance(Strand((number,), driver(), 0), None)

    # The three kinds of events.

    def operate(self, strand: Strand) -> None:
        """Does the operation to which the strand has come."""
        self.running.remove(strand)
        strand.clock = strand.at
        operation = strand.operation
        if isinstance(operation, Call):
            self._advance(strand, self._send(strand, operation))
        elif isinstance(operation, Create):
            name = self._next_tag(strand)
            self.servers[name] = Server(name, operation.state, 1, free_since=strand.clock)
            self._advance(strand, name)
        elif isinstance(operation, Put):
            self._advance(strand, Ref(self._next_tag(strand), strand.clock, operation.value))
        elif isinstance(operation, Sleep):
            strand.clock += operation.ticks
            self._advance(strand, None)
        elif isinstance(operation, End):
            self._end(strand, operation.value)
        else:
            self.blocked.append(strand)
            if strand.server is not None and strand.server.lends:
                strand.use[1] = strand.clock

    def start(self, server: Server) -> None:
        """Starts the server's first message."""
        start = server.next_start()
        assert start is not None
        message, at = start.message, start.at
        server.inbox.remove(message)
        message.key, server.last_start = start.key, at
        server.running += 1
        server.trace.append((message.tag, at, server.state))
        arguments = [a.value if isinstance(a, Ref) else a for a in message.arguments]
        code = self.methods[message.method](server.state, *arguments)
        use = [at, None]
        server.used.append(use)
        self._advance(Strand(message.tag, code, at, server, message, use), None)

    def resume(self, strand: Strand) -> None:
        """Answers a blocked strand."""
        known = self.answer(strand)
        assert known is not None
        at, answer = known
        self.blocked.remove(strand)
        strand.clock = at
        if strand.server is not None and strand.server.lends:
            strand.use = [
                at + TICK,
                None,
            ]  # it goes on although all places may be taken, and after what starts at this tick
            strand.server.used.append(strand.use)
        self._advance(strand, answer)

    def answer(self, strand: Strand) -> tuple[int, Any] | None:
        """(tick, answer) of a blocked strand as it is known now; None: nothing is known."""
        operation, since = strand.operation, strand.clock
        limit = None if operation.timeout is None else since + operation.timeout
        refs, count = ([operation.ref], 1) if isinstance(operation, Get) else (operation.refs, operation.count)
        known = sorted(max(since, ref.done) for ref in refs if ref.done is not None)
        possible = [*known[count - 1 : count], *([] if limit is None else [limit])]
        if not possible:
            return None
        at = min(possible)
        at += self.latency(strand.tag, strand.stretches)
        there = [ref for ref in refs if ref.done is not None and ref.done <= at][:count]
        if isinstance(operation, Get):
            return at, there[0].value if there else TIMED_OUT
        return at, there

    def _send(self, strand, call):
        server = self.servers[call.server]
        tag = self._next_tag(strand)
        before = None if server.lends else strand.last.get(server)  # tasks overtake those whose arguments are missing
        message = Message(tag, strand.clock, server, call.method, call.arguments, before, Ref(tag))
        strand.last[server] = message
        server.inbox.append(message)
        return message.result

    def _end(self, strand, value):
        if strand.message is None:
            self.results[strand.tag[0]] = value
            return
        server, result = strand.server, strand.message.result
        state, result.value = value
        if not server.lends:
            server.state, server.free_since = state, strand.clock
        result.done = strand.clock
        strand.use[1] = strand.clock
        server.running -= 1

    def _next_tag(self, strand):
        strand.calls += 1
        return (*strand.tag, strand.calls)

    def _advance(self, strand, answer):
        """Lets the strand's code run up to its next operation, and fixes when that is."""
        try:
            strand.operation = strand.code.send(answer)
        except StopIteration as end:
            strand.operation = End(end.value)
        strand.at = strand.clock + max(TICK, self.duration(strand.tag, strand.stretches, strand.operation))
        strand.stretches += 1
        self.running.append(strand)

    # The two ways through the events.

    def in_time_order(self) -> "Run":
        """The reference. Raises RuntimeError if strands wait for each other."""
        while (now := self._next_tick()) is not None:
            for strand in [s for s in self.running if s.at == now]:
                self.operate(strand)
            for server in list(self.servers.values()):
                while (start := server.next_start()) is not None and start.at == now:
                    self.start(server)
            for strand in [s for s in self.blocked if (known := self.answer(s)) is not None and known[0] == now]:
                self.resume(strand)
        return self._ended()

    def _next_tick(self):
        return min((bound for _, bound in self.events()), default=None)

    def events(self):
        """(what may happen, when), as it is known now."""
        for strand in self.running:
            yield strand, strand.at
        for server in self.servers.values():
            if (start := server.next_start()) is not None:
                yield server, start.at
        for strand in self.blocked:
            if (known := self.answer(strand)) is not None:
                yield strand, known[0]

    def as_allowed(self, chance: random.Random) -> "Run":
        """A run in which `chance` chooses what happens next, of all that is allowed. Raises RuntimeError if nothing is, before the end."""
        while choices := [(what, at) for what, at in self.events() if self.allowed(what, at)]:
            what, _ = chance.choice(choices)
            if isinstance(what, Server):
                self.start(what)
            elif what in self.blocked:
                self.resume(what)
            else:
                self.operate(what)
        return self._ended()

    def sources(self):
        """(what may do something next, least tick at which others may see that)."""
        blocked = set(self.blocked)
        for what, at in self.events():
            # the first operation of what starts or goes on comes at least a tick later
            yield what, at + TICK if isinstance(what, Server) or what in blocked else at

    def allowed(self, what: Server | Strand, at: int) -> bool:
        """Whether this event is what it will be in every run. An operation always is: it was fixed when its stretch began."""
        if isinstance(what, Strand):
            if what not in self.blocked or self.is_final(what):
                return True
            threshold = at
        else:
            threshold = self.threshold(what)
        return not any(self.holds(bound, threshold) for other, bound in self.sources() if other is not what)

    def threshold(self, server: Server) -> int:
        """The tick up to which nothing else may happen any more when the server's first message starts."""
        start = server.next_start()
        assert start is not None
        one_place = server.places == 1 and not server.lends
        return start.key if one_place else start.at  # else another place may get free before

    def holds(self, bound: int, threshold: int) -> bool:
        return bound <= threshold

    def is_final(self, strand: Strand) -> bool:
        """Whether its answer is known for good, whatever else happens."""
        operation = strand.operation
        refs = [operation.ref] if isinstance(operation, Get) else operation.refs
        return all(ref.done is not None for ref in refs)

    def _ended(self):
        if self.blocked or any(server.inbox or server.running for server in self.servers.values()):
            raise RuntimeError("strands wait for each other")
        return self

    def outcome(self) -> tuple:
        """What two runs of one program must have in common: each driver's result, and each server's calls in their order, with their times."""
        return self.results, {name: server.trace for name, server in self.servers.items()}
