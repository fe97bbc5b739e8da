"""Says in plain sentences what limits the speed of a program, and what would make it faster: pure functions over a recording."""

import re
from collections import Counter, defaultdict

from reactor import _core
from reactor.draw.timings import duration, size
from reactor.recording.rounds import main_rounds

_RUNS = 3  # patterns that ran less often are not looked at: they are the program's start
_SHORT = 100e-6  # seconds; a method that takes less is short beside a wake-up
_LARGE = _core.OWN_PAGES  # bytes
_MOST = 3  # values that are listed


def advise(recording, cores, placement="isolated"):
    """Sentences (list of str) about the run in a `reactor.recording.patterns.Recording`, on a machine with so many `cores`. The first ones say where the
    driver's time went."""
    whole = sum(s.seconds for s in recording.patterns if s.caller == "driver")
    rounds = main_rounds(recording, cores)
    lines = []
    for one in rounds:
        lines += _about(one, whole, cores, placement)
    if not rounds:
        lines.append(
            "No pattern of calls repeats and takes a large part of the driver's time, so there is no advice on rounds of calls."
        )
    return [*lines, *_pickled(recording), *_given_by_value(recording), *_divergences(recording)]


def _about(one, whole, cores, placement):
    pattern = one.pattern
    where = f"The calls before the {pattern.ends} at {pattern.end_site or 'its end'}"
    yield (
        f"{where} take {pattern.seconds / whole:.0%} of the driver's time: {pattern.runs:,} rounds of {duration(one.total)}, of which the driver's "
        f"own code takes {duration(one.own)} ({one.own / one.total:.0%}) and its wait {duration(one.wait)}."
    )
    work, path = one.work, sum(step.end - step.start for step in one.path)
    calls = sum(not o.is_put for o in pattern.operations)
    if one.own > 0.5 * one.total:
        yield (
            "  The driver's own code limits the speed: it takes more than half of a round, and the actors wait meanwhile. Make it shorter, or make "
            "the next calls before you use the results of the last ones."
        )
    elif path > 0.6 * one.wait and path > 1.3 * work / cores:
        names = Counter(_of_class(step.name) for step in one.path if step.end > step.start)
        longest = max(one.path, key=lambda step: step.end - step.start)
        chain = ", ".join(f"{name} ({n} times)" if n > 1 else name for name, n in list(names.items())[:4])
        more = ", ..." if len(names) > 4 else ""
        yield (
            f"  Calls that have to run one after the other limit the speed: {chain}{more}. They take {duration(path)} of the wait of {duration(one.wait)}, most of it "
            f"{_of_class(longest.name)}. Divide that method's work among several actors, or call it earlier."
        )
    elif work / cores > 0.6 * one.wait:
        yield (
            f"  The methods' own time limits the speed: {duration(work)} a round on {cores} cores. Only faster methods, or fewer calls, make this faster."
        )
    elif calls and work / calls < _SHORT:
        change = (
            ' Actors that share processes need fewer wake-ups: try placement="packed" or "auto".'
            if placement == "isolated" and calls > cores
            else ""
        )
        yield (
            f"  The calls are short: {duration(work / calls)} each on average, so waking processes and passing values takes most of a round. Let one call do "
            f"more, or have more calls under way at a time.{change}"
        )
    else:
        yield (
            f"  The methods take {duration(work)} a round, which {cores} cores could do in {duration(work / cores)}; the rest of the wait is other "
            "work of the machine, calls that other actors make, or sleeping methods."
        )


def _pickled(recording):
    """Values that are pickled at each call, the largest first."""
    found = Counter()
    for pattern in recording.patterns:
        for operation in pattern.operations:
            for what, values in (("an argument", operation.sources), ("the result", operation.results)):
                for value in values:
                    if (
                        getattr(value, "kind", "value") == "value"
                        and value.layout == "pickle"
                        and pattern.runs >= _RUNS
                    ):
                        found[f"{what} of {_of_class(operation.name)}"] += value.bytes * pattern.runs
    for what, total in found.most_common(_MOST):
        if total > 1 << 20:
            yield (
                f"Pickled: {what}, {size(total)} in all. Arrays, numbers, text, and tuples, lists and dicts of those are copied as they are, "
                "which is many times as fast."
            )


def _given_by_value(recording):
    """Large values that the same line gives to several calls of one round."""
    for pattern in recording.patterns:
        given = defaultdict(list)
        for operation in pattern.operations:
            for source in operation.sources:
                if source.kind == "value" and source.bytes >= _LARGE:
                    given[operation.site, source.layout, source.bytes].append(operation)
        for (site, layout, amount), operations in given.items():
            if len(operations) > 1 and pattern.runs >= _RUNS:
                yield (
                    f"Given by value: {layout or 'a value'} of {size(amount)} to {len(operations)} calls at {site}. If it is the same value, `ray.put` it once "
                    "and pass the ref: then it is not compared or copied for each call."
                )


def _divergences(recording):
    total = recording.counters.get("calls_total", 0)
    share = 1 - recording.counters.get("calls_in_patterns", 0) / total if total else 0.0
    often = sorted(recording.divergences, key=lambda d: -d.count)[:1]
    if share > 0.2 and total > 1000 and often:
        yield (
            f"{share:.0%} of the calls did not follow a learned pattern. The place where the program left one most often: {often[0]}. "
            "Make the same calls in the same order each round, where you can."
        )


def _of_class(reaction):
    """ "Env.step" for "Env#3.step"."""
    return re.sub(r"#\d+", "", reaction)
