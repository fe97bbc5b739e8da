"""One run of a program of `benchmarks/programs` on one side, in a process of its own."""

from benchmarks.machine import REPOSITORY
from rayshim.cli.compare import costs

PROGRAMS = REPOSITORY / "benchmarks" / "programs"


def run(side, name, options, out, patience, listen=lambda event: None):
    """Runs `programs/NAME.py` with these options (a dict) on a Side and gives what it told and what it cost, a dict.

    `rounds` has the seconds of each round after the warm-up, `warm_up` of those before; `traces` what the hash of the
    results was after each of all of them, `trace` at the end. `paces` has the seconds of a fixed loop, measured between rounds.
    `figures` is what else the program told; `reason` says why it failed, None if it did not. `out` is a Path for its
    events, `listen` is told of each.
    """
    rounds, result = [], {}

    def hear(event):
        if event["event"] == "round":
            rounds.append(event)
        elif event["event"] == "result":
            result.update(event)
        listen(event)

    command = [*side.launcher, str(PROGRAMS / f"{name}.py"), "--json", str(out)]
    for option, value in options.items():
        command += [f"--{option.replace('_', '-')}", str(value)]
    cost = costs.run(command, side.process_environment(), out, patience, hear, cwd=REPOSITORY)
    reason = cost.reason or (None if result else "it ended without a result")
    return {
        "reason": reason,
        "log": cost.log.splitlines()[-40:] if reason else [],
        "rounds": [event["seconds"] for event in rounds if not event["warm_up"]],
        "warm_up": [event["seconds"] for event in rounds if event["warm_up"]],
        "traces": [event["trace"] for event in rounds],
        "trace": result.get("trace"),
        "figures": result.get("figures", {}),
        "torch_threads": result.get("torch_threads"),
        "paces": result.get("paces", []),
        "wall": cost.wall,
        "start_up": cost.ready,
        "cpu": cost.cpu,
        "peak_memory": cost.peak_memory,
        "left_behind": cost.left_behind,
        **cost.others,
    }
