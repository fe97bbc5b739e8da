"""Converts the core's recording of the calls to the Report and the RecordedGraph for the user."""

import os
from dataclasses import dataclass

from reactor import _core
from reactor.recording.patterns import CREATION, Divergence, Operation, Pattern, Recording, Result, Source, Timing

from rayshim.ordering import order
from rayshim.recording import repeatability

_CALL, _CREATE, _TASK, _PUT = _core.OpKind
_ENDS = {_core.PatternEnd.GET: "get", _core.PatternEnd.WAIT: "wait", _core.PatternEnd.TASK_END: "end of task"}
ANSWER_SECONDS = 1.0  # for which a busy worker may delay the handover of its recording


def recording(session, seconds=ANSWER_SECONDS):
    """The Recording of the whole run: the driver's patterns, then those of each worker that answers within `seconds`."""
    actors = _actors(session)
    names = _names(session, actors)
    patterns, successors, divergences = [], {}, []
    recordings = [data for _, data in _core.recordings(seconds)]
    ran = _ran(recordings)
    for data in recordings:
        if "operations" not in data:
            continue
        trie = _Trie(data, names, ran)
        first = len(patterns)
        patterns += trie.patterns()
        successors.update({(first + i, first + j): count for i, j, count in data["successors"]})
        divergences += trie.divergences()
    measured = {}
    for (actor, name), method in ran.items():
        reaction = f"{names.get(actor, f'actor {actor}')}.{name}" if actor else f"task:{name}.call"
        measured[reaction] = Timing(method.calls, method.seconds)
    workers = {names[a["number"]]: a["host"] for a in actors if a["host"] is not None}
    return Recording(tuple(patterns), successors, tuple(divergences), _core.counters(), measured, workers)  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True)
class _Method:
    """A method or function, as recorded by the processes that ran it."""

    calls: int
    seconds: float
    layout: str
    bytes: int


def _ran(recordings):
    """{(actor number, 0 for a task; name): _Method}, over all processes, because tasks of one function run in many."""
    found = {}
    for data in recordings:
        for actor, name, calls, seconds, layout, size, _failed in data.get("ran", ()):
            before = found.get((actor, name))
            if before:
                calls, seconds = calls + before.calls, seconds + before.seconds
                layout, size = before.layout or layout, before.bytes or size
            found[actor, name] = _Method(calls, seconds, layout, size)
    return found


def _actors(session):
    return session.placement.state()["actors"]


def _names(session, actors=None):
    """{actor number: "Class#k"}: k counts the actors of the class in the order of their creation. `actors`: the list of the supervisor."""
    classes = dict(session.actor_classes)
    actors = _actors(session) if actors is None else actors
    classes.update((a["number"], a["class_name"]) for a in actors)
    counts, names = {}, {}
    for number in sorted(classes):
        k = counts[classes[number]] = counts.get(classes[number], -1) + 1
        names[number] = f"{classes[number]}#{k}"
    return names


class _Trie:
    """The recording of one process as a trie: a node per operation, with its parent; a pattern is given by the node where it ends."""

    def __init__(self, data, names, ran):
        self.nodes, self.raw_patterns, self.names, self.ran = data["operations"], data["patterns"], names, ran
        self.before, self.after = {}, {}  # pattern -> the one that most often preceded it, followed it
        for i, j, count in sorted(data["successors"], key=lambda s: s[2]):
            self.before[j] = i
            self.after[i] = j

    def patterns(self):
        gets = self._gets()
        return [self._pattern(k, gets[k]) for k in range(len(self.raw_patterns))]

    def _pattern(self, k, gets):
        node, root, end, _, count, seconds, waited, wakes, sleeps, site = self.raw_patterns[k]
        path = self._path(node)
        operations = tuple(self._operation(self.nodes[n], k, path) for n in path)
        return Pattern(
            self._caller(root),
            operations,
            _ENDS[end],
            count,
            seconds,
            wakes,
            sleeps,
            tuple(gets) if _ENDS[end] == "get" else None,
            "" if site == "?" else _short(site),
            waited,
        )

    def _gets(self):
        """For each pattern, the results that the `get` at its end has returned. Each operation records how many patterns later its result was used."""
        found = [[] for _ in self.raw_patterns]
        for k, (node, *_) in enumerate(self.raw_patterns):
            for index, n in enumerate(self._path(node)):
                raw, end = self.nodes[n], k
                kind = "put" if raw["kind"] == _PUT else "operation"
                for back in range(_core.LATER):
                    if end is None:
                        break
                    for output, (_, _, later) in enumerate(raw["known_results"]):
                        if later >> back & 1:
                            found[end].append(Source(kind, -back, index, output))
                    end = self.after.get(end)
        return found

    def _path(self, node):
        path = []
        while self.nodes[node]["kind"] != _CALL or self.nodes[node]["target"]:  # a root has no target
            if not self.nodes[node]["site"] or self.nodes[node]["site"] == "?":
                break
            path.append(node)
            node = self.nodes[node]["parent"]
        return path[::-1]

    def _caller(self, root):
        raw = self.nodes[root]
        if raw["actor"]:
            return f"{self.names.get(raw['actor'], 'actor')}.{raw['name']}"
        return raw["name"] if root == 0 else f"task:{raw['name']}"

    def _target(self, raw):
        kind = raw["kind"]
        if kind == _PUT:
            return "put", ""
        if kind == _TASK:
            return f"task:{raw['name']}", ""
        return self.names.get(raw["actor"], f"actor {raw['actor']}"), CREATION if kind == _CREATE else raw["name"]

    def _operation(self, raw, k, path):
        target, method = self._target(raw)
        count = 0 if raw["kind"] == _CREATE else raw["results"]  # the result of a constructor is never read
        results = tuple(Result(*self._result(raw, output)) for output in range(count))
        process = raw["actor"] if raw["kind"] in (_CALL, _CREATE) else None
        if raw["kind"] == _PUT:
            return Operation(
                "put", "", _short(raw["site"]), (Source("value", layout=raw["layout"], bytes=raw["bytes"]),)
            )
        return Operation(target, method, _short(raw["site"]), tuple(self._sources(raw, k, path)), results, process)

    def _result(self, raw, output):
        """(layout, bytes) of one result of an operation, as recorded by its caller, or else by the process that made it."""
        known = raw["known_results"]
        if output < len(known) and known[output][0]:
            layout, size, _ = known[output]
            return layout, size
        method = self.ran.get((raw["actor"] if raw["kind"] == _CALL else 0, raw["name"]))
        return (method.layout, method.bytes) if method else ("", 0)

    def _sources(self, raw, k, path):
        layouts = _split(raw["layout"])
        refs = {argument: (back, op - 1, output) for argument, back, op, output in raw["sources"]}
        # A constructor's first argument is the runtime's own.
        for argument in range(raw["kind"] == _CREATE, raw["args"]):
            layout = layouts[argument] if argument < len(layouts) else ""
            if argument not in refs:
                yield Source("value", layout=layout, bytes=raw["bytes"] // max(raw["args"], 1))
                continue
            back, op, output = refs[argument]
            producer = self._producer(k, path, back, op)
            if producer is None:
                yield Source("outside", layout="")
                continue
            put = producer["kind"] == _PUT
            shown, size = (producer["layout"], producer["bytes"]) if put else self._result(producer, output)
            yield Source("put" if put else "operation", -back, op, output, shown, size)

    def _producer(self, k, path, back, op):
        """The operation that made an argument, searched in the patterns that usually come before."""
        if back == _core.OLDER:
            return None
        for _ in range(back):
            k = self.before.get(k)
            if k is None:
                return None
            path = self._path(self.raw_patterns[k][0])
        return self.nodes[path[op]] if 0 <= op < len(path) else None

    def divergences(self):
        """Yields a Divergence for each place where the program did something else than in the first recording."""
        children = {}
        for number, raw in enumerate(self.nodes):
            if raw["site"] != "?":
                children.setdefault(raw["parent"], []).append(number)
        ends = {node: (end, born, count, _short(site)) for node, _, end, born, count, *_, site in self.raw_patterns}
        for parent, numbers in children.items():
            if self.nodes[parent]["site"] == "?":
                continue  # a root: a pattern may begin with any operation
            caller = self._caller_of(parent)
            first = self.nodes[numbers[0]]
            if parent in ends:
                end, born, count, site = ends[parent]
                if numbers[0] >= born:  # the pattern ended here in the recording, but continued later
                    yield self._divergence(caller, None, first, _ENDS[end], "the pattern was longer", site)
                    continue
                yield Divergence(
                    caller,
                    self._shown(first),
                    _ENDS[end],
                    _short(first["site"]),
                    site,
                    "the pattern was shorter",
                    count,
                )
            for number in numbers[1:]:
                yield self._divergence(caller, first, self.nodes[number], None, _difference(first, self.nodes[number]))

    def _divergence(self, caller, recorded, seen, end, reason, site=""):
        return Divergence(
            caller,
            self._shown(recorded) if recorded else end,
            self._shown(seen),
            _short(recorded["site"]) if recorded else site,
            _short(seen["site"]),
            reason,
            seen["visits"],
        )

    def _caller_of(self, node):
        while self.nodes[node]["site"] != "?":
            node = self.nodes[node]["parent"]
        return self._caller(node)

    def _shown(self, raw):
        target, method = self._target(raw)
        if raw["kind"] == _PUT:
            return "put"
        return f"{raw['name']}.remote" if raw["kind"] == _TASK else f"{method}.remote on {target}"


def _difference(recorded, seen):
    if recorded["kind"] != seen["kind"]:
        return "different kind of operation"
    for key, words in (
        ("site", "different call site"),
        ("name", "different method"),
        ("target", "different actor or function"),
        ("args", "different number of arguments"),
        ("sources", "arguments come from different operations"),
    ):
        if recorded[key] != seen[key]:
            return words
    return "different keywords or number of results"


def _split(layout):
    """Splits the text of layouts at commas outside of brackets."""
    parts, depth, last = [], 0, 0
    for i, c in enumerate(layout):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(layout[last:i].strip())
            last = i + 1
    return parts + [layout[last:].strip()] if layout else []


def _short(site):
    here = os.getcwd() + os.sep
    return site.removeprefix(here)


def report(session):
    """See `rayshim.report`."""
    from rayshim.recording.reporting import Report

    names = _names(session)
    tries = [_Trie(data, names, {}) for _, data in _core.recordings(ANSWER_SECONDS) if "operations" in data]
    runs = [count for trie in tries for _, _, _, _, count, *_ in trie.raw_patterns]
    divergences = [divergence for trie in tries for divergence in trie.divergences()]
    return Report(
        {
            **_core.counters(),
            "patterns": len(runs),
            "pattern_runs": sum(runs),
            "placement": _placement(session),
            "divergences": divergences,
            "arrivals": (arrivals := order.arrivals()),
            "repeatable": repeatability.found(session, arrivals),
        }
    )


def _placement(session):
    auto = session.settings.auto
    return session.placement.about() + (f" (auto: {auto.why})" if auto else "")


def graph(session):
    """See `rayshim.graph`."""
    from rayshim.recording.reporting import RecordedGraph

    if not session.settings.recording:
        raise RuntimeError(
            "graph(): this session learns no patterns of calls, because of init(learn_patterns=False). Leave it out"
        )
    return RecordedGraph(recording(session))
