"""The cost of a whole run of a program: time, processor time and memory of all its processes together."""

from dataclasses import dataclass

from rayshim.cli.compare.busy import Watch
from rayshim.cli.compare.child import Child
from rayshim.cli.compare.processes import Sampler


@dataclass(frozen=True)
class Cost:
    """The cost of one run, in seconds (from the start of the process) and bytes of proportional set size.

    `ready`: time of the event "ready", which ends the start-up; None without this event. `reason`: why the run failed, None if it
    succeeded. `left_behind`: number of processes that had to be killed after its end. `others`: see `Watch.others`.
    """

    wall: float
    ready: float | None
    cpu: float
    peak_memory: int
    left_behind: int
    status: int
    reason: str | None
    log: str
    others: dict


def run(arguments, environment, out, patience, listen=lambda event: None, cwd=None, stdout=None):
    """Runs `python *arguments` to its end and returns its Cost.

    Arguments:
        arguments, environment, out, cwd, stdout: see `Child`.
        patience: most seconds between two events.
        listen: called with each event that the process appends to `out`, except the last.

    The event "ready" has the time of the monotonic clock as "clock", and ends the start-up. Memory is read at this event, and at events
    with `"look": true`.
    """
    ready = reason = None
    watch = Watch()
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
    cpu = child.tree.cpu_seconds()
    return Cost(
        wall=child.ended - child.started,
        ready=ready,
        cpu=cpu,
        peak_memory=sampler.peak_memory,
        left_behind=child.killed,
        status=child.status,
        reason=reason,
        log=child.log(),
        others=watch.others(cpu),
    )
