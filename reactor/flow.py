"""The flow of values in a recording: the later operations and the waits of the caller that use each result."""

from collections import defaultdict
from dataclasses import dataclass

from reactor.record import WAITS


@dataclass(frozen=True)
class Use:
    """One use of a result: by argument `argument` of operation `operation` of segment `segment`, `back` segments later.

    `operation` is None if the caller itself gets the result at the end of that segment.
    """

    segment: int
    operation: int | None
    argument: int
    back: int


def uses(recording):
    """{(segment, operation, output): [Use, ...]} over all results and puts of `recording`, in order of use.

    If the recording does not contain the results that the end of a segment asked for, all results of that segment that no operation uses are
    assumed.
    """
    before = predecessors(recording)
    found = defaultdict(list)

    def add(i, k, argument, source):
        if source.kind not in ("operation", "put"):
            return
        for producer in _back(before, i, -source.segment):
            operations = recording.segments[producer].operations
            if source.operation < len(operations) and source.output < len(operations[source.operation].results):
                found[producer, source.operation, source.output].append(Use(i, k, argument, -source.segment))

    for i, segment in enumerate(recording.segments):
        for k, operation in enumerate(segment.operations):
            for argument, source in enumerate(operation.sources):
                add(i, k, argument, source)
        for argument, source in enumerate(segment.gets or ()):
            add(i, None, argument, source)
    for i, segment in enumerate(recording.segments):
        if segment.gets is None and segment.ends in WAITS:
            for k, operation in enumerate(segment.operations):
                for output in range(len(operation.results)):
                    if not operation.is_put and (i, k, output) not in found:
                        found[i, k, output].append(Use(i, None, k, 0))
    return dict(found)


def predecessors(recording):
    """{segment: the segments that it has followed}"""
    before = defaultdict(set)
    for i, j in recording.successors:
        before[j].add(i)
    return before


def _back(before, segment, steps):
    """The segments from which `segment` is reached in `steps` steps."""
    reached = {segment}
    for _ in range(steps):
        reached = {earlier for one in reached for earlier in before.get(one, ())}
    return sorted(reached)
