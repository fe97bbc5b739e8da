"""Random asynchronous programs for the tests of timed order, and runs of them.

A program is a seed: what the driver, a task or a method does is drawn from the seed and the place of the call in the program (`Body`). What it does *with*
depends on the order of events: which refs are done, which state an actor has. How long anything takes is drawn anew in each run.

A strand blocks only on calls of actors behind its own one, and on tasks, so strands never wait for each other.
"""

import contextlib
import os
import time
from dataclasses import dataclass
from hashlib import blake2b

import rayshim as ray

ACTORS = 4
METHODS = ("act", "serve", "fail")
KINDS = (
    "call",
    "call",
    "call",
    "task",
    "put",
    "get",
    "wait",
    "wait",
    "poll",
    "pause",
    "create",
    "give",
    "named",
    "drop",
    "kill",
    "log",
)


MAKES = ("create", "named", "drop", "kill")


def number(*parts):
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=6).digest(), "big")


def pause():
    """Takes up to 2 ms, seldom 15, asleep or busy: other in each run, whatever the seed."""
    kind, x = os.urandom(2)
    seconds = x / 256 * (0.015 if kind % 8 == 0 else 0.002)
    if kind & 64:
        time.sleep(seconds)
    else:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass


@dataclass(frozen=True)
class Plan:
    """What all parts of a program know: its seed, a constant of its arithmetic, and how many operations and levels of calls it has."""

    seed: int
    constant: int = 0
    operations: int = 10
    depth: int = 3
    kinds: tuple = KINDS


@dataclass(frozen=True)
class Reply:
    """Of a call: its value, and the refs that it did not get, which the driver gets at last."""

    value: object
    refs: list


class Peer:
    """An actor that others know: its handle, or its name, and its place."""

    def __init__(self, place, handle=None, name=None):
        self.place, self.found, self.name = place, handle, name

    def handle(self):
        return ray.get_actor(self.name) if self.found is None else self.found


@ray.remote
class Node:
    def __init__(self, plan, place):
        pause()
        self.plan, self.place, self.state, self.calls = plan, place, number(plan.constant, place), []

    def act(self, path, peers, given, *waited_for):
        return self.run(path, peers, given, waited_for)

    def serve(self, path, peers, given, *waited_for):
        return self.run(path, peers, given, waited_for)

    def fail(self, path, peers, given, *waited_for):
        self.run(path, (), (), ())
        raise ValueError(self.state)

    def log(self, path):
        return Reply((path, list(self.calls)), [])

    def run(self, path, peers, given, waited_for):
        self.calls.append(path)
        self.state = number(self.state, path, shown(waited_for), self.plan.constant)
        pause()
        reply = Body(self.plan, path, self.place, peers, given).run()
        self.state = number(self.state, shown(reply.value))
        return Reply((self.state, reply.value), reply.refs)


@ray.remote
def work(plan, path, place, peers, given, *waited_for):
    pause()
    reply = Body(plan, path, place, peers, given).run()
    return Reply((shown(waited_for), reply.value, plan.constant), reply.refs)


def shown(value):
    if isinstance(value, Reply):
        return shown(value.value)
    if isinstance(value, (list, tuple)):
        return [shown(part) for part in value]
    return value


class Body:
    """What one strand does. `refs` are (ref, place): a strand whose place is before that may wait for it."""

    def __init__(self, plan, path, place, peers, given):
        self.plan, self.path, self.place = plan, path, place
        self.peers, self.refs, self.seen = list(peers), list(given), []
        self.made = 0
        self.open, self.at = {}, 0

    def run(self):
        x = number(self.plan.seed, self.path)
        for i in range(
            1 + x % max(self.plan.operations - 3 * len(self.path), 2) + (0 if self.path else self.plan.operations)
        ):
            y = number(self.plan.seed, self.path, i)
            kind, z = self.plan.kinds[y % len(self.plan.kinds)], y // 64
            if kind in MAKES and len(self.path) + z % 3 > 1:
                kind = "call"
            getattr(self, kind)(z, self.path + (i,))
        return Reply([x, *self.seen], [ref for ref, _ in self.refs] if self.path else self.refs)

    def pick(self, z):
        peers = self.peers
        return peers[z % len(peers)] if peers else None

    def can_wait(self):
        return [ref for ref, place in self.refs if place > self.place]

    def call(self, z, path):
        peer = self.pick(z)
        if peer is None or len(path) > self.plan.depth:
            return
        waited_for = [ref for ref, place in self.refs if place > peer.place][: z // 32 % 2]
        inside = self.refs[: z // 128 % 3]
        handles = self.peers[: z // 512 % (len(self.peers) + 1)]
        method = METHODS[z // 1024 % 16 % 7 % 3] if z // 1024 % 5 else "act"
        ref = getattr(peer.handle(), method).remote(path, handles, inside, *waited_for)
        self.refs.append((ref, peer.place))

    def task(self, z, path):
        if len(path) > self.plan.depth:
            return
        waited_for = [ref for ref, place in self.refs if place > self.place][: z // 32 % 2]
        self.refs.append(
            (
                work.remote(self.plan, path, self.place, self.peers[: z % 3], self.refs[: z // 16 % 3], *waited_for),
                ACTORS,
            )
        )

    def put(self, z, path):
        self.refs.append((ray.put(Reply((path, z, self.plan.constant), [])), ACTORS))

    def get(self, z, path, timeout=None):
        refs = self.can_wait()
        if refs:
            self.seen.append(shown(value_of(refs[z % len(refs)], timeout)))

    def poll(self, z, path):
        self.get(z, path, timeout=z // 64 % 4 * 0.002)

    def wait(self, z, path):
        refs = self.can_wait()[-6:]
        if refs:
            timeout = z // 8 % 6 * 0.002 if z // 64 % 2 else None
            ready, rest = ray.wait(refs, num_returns=1 + z % len(refs), timeout=timeout)
            self.seen.append([refs.index(ref) for ref in ready])
            for ref in ready[: z // 256 % 2]:
                self.seen.append(shown(value_of(ref)))
            self.refs.sort(key=lambda each: each[0] in rest)  # what is done goes first from here on

    def pause(self, z, path):
        pause()

    def new(self, z, path, **options):
        place = self.place + 1 + z % 2
        return place, Node.options(num_cpus=0, **options).remote(self.plan, place)

    def create(self, z, path):
        place, handle = self.new(z, path)
        self.peers.insert(0, Peer(place, handle))

    def named(self, z, path):
        name = "-".join(map(str, path))
        place, handle = self.new(z, path, name=name)
        self.keep = [*getattr(self, "keep", ()), handle]
        self.refs.append((handle.act.remote((*path, 0), [], []), place))
        self.peers.insert(0, Peer(place, name=name))
        self.get(-1, path)
        self.peers.pop(0) if self.path else None

    def give(self, z, path):
        """A ref goes through an actor that another one may call, too."""
        if (peer := self.pick(z)) is not None:
            self.refs.append((peer.handle().act.remote(path, self.peers[:2], self.refs[-2:]), peer.place))

    def drop(self, z, path):
        """An actor is made, called and dropped."""
        place, handle = self.new(z, path)
        for k in range(1 + z % 3):
            self.refs.append((handle.serve.remote((*path, k), self.peers[:1], []), place))

    def kill(self, z, path):
        _, handle = self.new(z, path)
        self.seen.append(shown(value_of(handle.act.remote((*path, 0), [], []))))
        ray.kill(handle)

    def log(self, z, path):
        if (peer := self.pick(z)) is not None:
            self.refs.append((peer.handle().log.remote(path), peer.place))


def value_of(ref, timeout=None):
    try:
        return ray.get(ref, timeout=timeout)
    except (ray.exceptions.RayError, ValueError) as error:
        return type(error).__name__


def run(plan):
    """What the program shows: [each value that is got in the end, each actor's calls in order]."""
    nodes = [Node.options(num_cpus=0).remote(plan, place) for place in range(ACTORS)]
    peers = [Peer(place, node) for place, node in enumerate(nodes)]
    first = Body(plan, (), -1, peers, ())
    reply = first.run()
    shows, left, seen = [shown(reply.value)], [ref for ref, _ in reply.refs], set()
    while left:
        ref = left.pop(0)
        if ref in seen:
            continue
        seen.add(ref)
        value = value_of(ref)
        shows.append(shown(value))
        left += value.refs if isinstance(value, Reply) else ()
    return [shows, [shown(value_of(node.log.remote(()))) for node in nodes]]


def outcome(plan, timing, **how):
    """(what the program shows, the run's digest, what was lost of its order)."""
    from reactor import _core

    ray.init(num_cpus=4, logging_level="ERROR", ordering="timed", timing=timing, **how)
    try:
        with open(os.devnull, "w") as quiet, contextlib.redirect_stderr(quiet):
            shows = run(plan)
            return shows, ray.digest(), _core.timed_lost()
    finally:
        ray.shutdown()
