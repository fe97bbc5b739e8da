"""What a whole run of a program cost: time, processor time, memory, of all its processes together."""

from dataclasses import dataclass

from rayshim.cli.compare.child import Child
from rayshim.cli.compare.processes import Sampler


@dataclass(frozen=True)
class Cost:
    """Of one run. Seconds, and bytes of proportional set size; times are from the start of the process.

    `ready` is the moment of the event "ready" (the start-up), None if there was none. `reason` says why the run did not
    end well, None if it did; `left_behind` is the number of processes that had to be killed after its end.
    """

    wall: float
    ready: float | None
    cpu: float
    peak_memory: int
    left_behind: int
    status: int
    reason: str | None
    log: str


def run(arguments, environment, out, patience, listen=lambda event: None, cwd=None, stdout=None):
    """Runs `python *arguments` to its end and gives its Cost.

    Arguments:
        arguments, environment, out, cwd, stdout: as of `Child`.
        patience: seconds that it may say nothing.
        listen: told of each event that the process appends to `out`, but for the last.

    The event "ready", with the monotonic clock then as "clock", ends the start-up; memory is read then, and when an event
    has `"look": true`.
    """
    ready = reason = None
    with Child(arguments, environment, out, cwd=cwd, stdout=stdout) as child, Sampler(child.tree) as sampler:
        for event in child.events(patience):
            if event["event"] == "over":
                reason = event["reason"]
                break
            if event["event"] == "ready" and ready is None:
                ready = event["clock"] - child.started  # pyright: ignore[reportOperatorIssue]
                sampler.look()
            elif event.get("look"):
                sampler.look()
            listen(event)
    return Cost(
        wall=child.ended - child.started,
        ready=ready,
        cpu=child.tree.cpu_seconds(),
        peak_memory=sampler.peak_memory,
        left_behind=child.killed,
        status=child.status,
        reason=reason,
        log=child.log(),
    )
