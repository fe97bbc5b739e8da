"""Says in plain sentences what bounds a program, and what would make it faster: pure functions over a recording."""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass

from reactor import _core
from reactor.draw.timings import size
from reactor.record import CREATION

_SHARE = 0.05  # segments with less of the driver's time are not looked at
_RUNS = 3  # nor those that ran less often: they are the program's start
_SHORT = 100e-6  # seconds; a method that takes less is short beside a wake-up
_LARGE = _core.OWN_PAGES  # bytes
_MOST = 3  # segments told of


@dataclass(frozen=True)
class Round:
    """One run of a segment of the driver, on average, in seconds.

    Attributes:
        total, own: from the wait before to the end of its own; what the driver's own code takes of that.
        work: {reaction: what its calls take together}.
        path: the calls that run one after the other because one needs the result of the other or the same actor, and take longest,
            [(reaction, seconds)].
    """

    total: float
    own: float
    work: dict[str, float]
    path: list[tuple[str, float]]

    @property
    def wait(self):
        return self.total - self.own


def advise(recording, cores, placement="isolated"):
    """Sentences (list of str) about the run in a `reactor.record.Recording`, on a machine with so many `cores`. The first ones say where the
    driver's time went."""
    driver = [s for s in recording.segments if s.caller == "driver" and s.runs >= _RUNS and s.seconds > 0]
    whole = sum(s.seconds for s in recording.segments if s.caller == "driver")
    told = [s for s in sorted(driver, key=lambda s: -s.seconds)[:_MOST] if s.seconds > _SHARE * whole]
    lines = []
    for segment in told:
        lines += _about(segment, round_of(segment, recording.measured), whole, cores, placement)
    if not told:
        lines.append(
            "No pattern of calls takes a large part of the driver's time again and again, so there is nothing to say of one."
        )
    return [*lines, *_pickled(recording), *_given_by_value(recording), *_divergences(recording)]


def round_of(segment, measured):
    """The Round of a segment, with the times of `Recording.measured`."""
    mean = {name: t.seconds / t.calls for name, t in measured.items() if t.calls and t.seconds is not None}
    work, ends, paths, busy = defaultdict(float), [], [], {}
    for operation in segment.operations:
        took = 0.0 if operation.is_put or operation.method == CREATION else mean.get(operation.name, 0.0)
        before = [s.operation for s in operation.sources if s.kind == "operation" and s.segment == 0]
        before += [busy[operation.target]] if "#" in operation.target and operation.target in busy else []
        last = max(before, key=lambda k: ends[k], default=None)
        ends.append((ends[last] if last is not None else 0.0) + took)
        paths.append([*(paths[last] if last is not None else []), (operation.name, took)])
        busy[operation.target] = len(ends) - 1
        if took:
            work[operation.name] += took
    longest = max(range(len(ends)), key=lambda k: ends[k], default=None)
    total = segment.seconds / segment.runs
    own = max(segment.seconds - segment.waited, 0.0) / segment.runs
    return Round(total, own, dict(work), paths[longest] if longest is not None else [])


def _about(segment, one, whole, cores, placement):
    where = f"The calls before the {segment.ends} at {segment.end_site or 'its end'}"
    yield (
        f"{where} take {segment.seconds / whole:.0%} of the driver's time: {segment.runs:,} rounds of {_time(one.total)}, of which the driver's "
        f"own code takes {_time(one.own)} ({one.own / one.total:.0%}) and its wait {_time(one.wait)}."
    )
    work, path = sum(one.work.values()), sum(took for _, took in one.path)
    calls = sum(not o.is_put for o in segment.operations)
    if one.own > 0.5 * one.total:
        yield (
            "  The driver's own code bounds them: it takes more than half of a round, and the actors wait meanwhile. Make it shorter, or make "
            "the next calls before you use the results of the last ones."
        )
    elif path > 0.6 * one.wait and path > 1.3 * work / cores:
        names = Counter(_of_class(name) for name, took in one.path if took)
        longest = max(one.path, key=lambda step: step[1])
        chain = ", ".join(f"{name} ({n} times)" if n > 1 else name for name, n in list(names.items())[:4])
        more = ", ..." if len(names) > 4 else ""
        yield (
            f"  Calls that have to run one after the other bound them: {chain}{more}. They take {_time(path)} of the wait of {_time(one.wait)}, most of it "
            f"{_of_class(longest[0])}. Divide that method's work among several actors, or call it earlier."
        )
    elif work / cores > 0.6 * one.wait:
        yield (
            f"  The methods' own time bounds them: {_time(work)} a round on {cores} cores. Only faster methods, or fewer calls, make this faster."
        )
    elif calls and work / calls < _SHORT:
        change = (
            ' Actors that share processes need fewer wake-ups: try placement="packed" or "auto".'
            if placement == "isolated" and calls > cores
            else ""
        )
        yield (
            f"  The calls are short: {_time(work / calls)} each on average, so waking processes and passing values takes most of a round. Let one call do "
            f"more, or have more calls under way at a time.{change}"
        )
    else:
        yield (
            f"  The methods take {_time(work)} a round, which {cores} cores could do in {_time(work / cores)}; the rest of the wait is other "
            "work of the machine, calls that other actors make, or sleeping methods."
        )


def _pickled(recording):
    """Values that are pickled at each call, the largest first."""
    found = Counter()
    for segment in recording.segments:
        for operation in segment.operations:
            for what, values in (("an argument", operation.sources), ("the result", operation.results)):
                for value in values:
                    if (
                        getattr(value, "kind", "value") == "value"
                        and value.layout == "pickle"
                        and segment.runs >= _RUNS
                    ):
                        found[f"{what} of {_of_class(operation.name)}"] += value.bytes * segment.runs
    for what, total in found.most_common(_MOST):
        if total > 1 << 20:
            yield (
                f"Pickled: {what}, {size(total)} in all. Arrays, numbers, text, and tuples, lists and dicts of those are copied as they are, "
                "which is many times as fast."
            )


def _given_by_value(recording):
    """Large values that the same line gives to several calls of one round."""
    for segment in recording.segments:
        given = defaultdict(list)
        for operation in segment.operations:
            for source in operation.sources:
                if source.kind == "value" and source.bytes >= _LARGE:
                    given[operation.site, source.layout, source.bytes].append(operation)
        for (site, layout, amount), operations in given.items():
            if len(operations) > 1 and segment.runs >= _RUNS:
                yield (
                    f"Given by value: {layout or 'a value'} of {size(amount)} to {len(operations)} calls at {site}. If it is the same value, `ray.put` it once "
                    "and pass the ref: then it is not compared or copied for each call."
                )


def _divergences(recording):
    total = recording.counters.get("calls_total", 0)
    share = 1 - recording.counters.get("calls_replayed", 0) / total if total else 0.0
    often = sorted(recording.divergences, key=lambda d: -d.count)[:1]
    if share > 0.2 and total > 1000 and often:
        yield (
            f"{share:.0%} of the calls did not follow a learned pattern. The place where the program left one most often: {often[0]}. "
            "Make the same calls in the same order each round, where you can."
        )


def _of_class(reaction):
    """ "Env.step" for "Env#3.step"."""
    return re.sub(r"#\d+", "", reaction)


def _time(seconds):
    for unit, factor in (("s", 1), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.2g} µs"
