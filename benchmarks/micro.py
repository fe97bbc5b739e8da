"""Microbenchmark: the cost of single operations on rayshim and on Ray, in the same run."""

import argparse
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import compiled_graphs as graphs
from benchmarks import floors, inside, machine, report, runner, sides, workloads

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Row:
    """A row of the table.

    A sample is the cost of one unit of work: seconds, or what `shown_as` says: "time", "bytes", "count", or
    "rate" in units of `unit` a second. Ratios are always of costs: Ray's, a Compiled Graph's and that without
    plans over rayshim's. `required` is what the first must reach, `required_compiled` the second,
    `required_plans` the third; `at_most` is what rayshim's cost must not exceed. A sample takes in `operations`
    or more, and so does the warm-up, which matters where fast and slow ones take turns; `once` means one sample
    to a process, of its first operation. Rows of one `group` are measured in one process; those without a
    workload come from benchmarks.startup. `compiled` is the workload of the side that runs Compiled Graphs.
    A group is measured in `pairs` short processes with plans and as many without, in a quick run half of that.
    A row that says nothing for `patience` seconds has failed.
    """

    name: str
    group: str
    workload: Callable | None = None
    compiled: Callable | None = None
    shown_as: str = "rate"
    unit: str = "calls"
    required: float | None = None
    required_compiled: float | None = None
    required_plans: float | None = None
    at_most: float | None = None
    operations: int = 1
    once: bool = False
    pairs: int = 6
    patience: float = 60.0
    only: tuple[str, ...] = ()

    def runs_on(self, side):
        if side.compiled:
            return self.compiled is not None
        return not self.only or side.name in self.only


def _rows(group, *rows, **common):
    return [Row(name, group, workload, **common, **options) for name, workload, options in rows]


TIME = {"shown_as": "time"}
COUNT = {"shown_as": "count"}
OURS = ("rayshim-no-plans", "rayshim")
# Recording may cost 5%.
RECORDING = {**TIME, "only": OURS, "required_plans": 1 / 1.05, "once": True, "pairs": 24}

ALL_ROWS = [
    *_rows(
        "start-up",
        ("import + init", None, TIME),
        ("first actor ready", None, TIME),
        ("8 more actors ready", None, TIME),
        ("import + init + first actor ready", None, {**TIME, "required": 20, "at_most": 0.25}),
        ("memory with 9 actors, less the driver's own", None, {"shown_as": "bytes", "required": 10}),
    ),
    *_rows(
        "actor calls",
        ("1:1 actor calls sync", workloads.actor_calls_sync, {"compiled": graphs.calls_sync, "required": 60}),
        ("1:1 actor calls async", workloads.actor_calls_async, {"compiled": graphs.calls_async, "required": 100}),
        ("1:1 actor calls concurrent", workloads.actor_calls_concurrent, {}),
        ("1:n actor calls async", workloads.one_to_many_calls, {}),
        ("n:n actor calls async", workloads.many_to_many_calls, {}),
        ("n:n actor calls with arg async", workloads.many_to_many_calls_with_argument, {}),
        ("driver's processor time, 1:1 async", workloads.driver_time, {**TIME, "at_most": 1.5e-6}),
    ),
    *_rows(
        "tasks",
        ("single client tasks sync", workloads.tasks_sync, {"unit": "tasks", "required": 40}),
        ("single client tasks async", workloads.tasks_async, {"unit": "tasks", "required": 40}),
        ("multi client tasks async", workloads.tasks_of_many_clients, {"unit": "tasks"}),
        ("single client wait 1k refs", workloads.wait_for_1k_refs, {"unit": "waits", "required": 60}),
    ),
    *_rows(
        "objects",
        ("single client get calls", workloads.get_calls, {"required": 40}),
        ("single client put calls", workloads.put_calls, {"required": 100}),
        ("multi client put calls", workloads.put_calls_of_many_clients, {}),
        ("single client put gigabytes", workloads.put_gigabytes, {"unit": "GB", "operations": 8}),
        ("single client get object containing 10k refs", workloads.get_of_10k_refs, {}),
    ),
    *_rows(
        "patterns",
        ("barrier over 8 actors", workloads.barrier, {"compiled": graphs.barrier, "required": 50}),
        (
            "barrier over 8 actors, observations",
            workloads.barrier_with_observations,
            {"compiled": graphs.barrier_with_observations, "required": 50},
        ),
        ("echo 1 KB array", workloads.echo_1_kb, {"compiled": graphs.echo_1_kb, "required": 50}),
        ("echo 1 MB array", workloads.echo_1_mb, {"compiled": graphs.echo_1_mb, "required": 8}),
        (
            "broadcast 10 MB to 8 actors",
            workloads.broadcast_10_mb,
            {"compiled": graphs.broadcast_10_mb, "required": 20},
        ),
        ("chain through 8 actors", workloads.chain, {"compiled": graphs.chain, "required": 40}),
        shown_as="time",
    ),
    *_rows(
        "static graphs",
        ("static graph of 1 actor", workloads.static_graph_of_1, {"compiled": graphs.static_graph_of_1}),
        ("static graph of 8 actors", workloads.static_graph_of_8, {"compiled": graphs.static_graph_of_8}),
        shown_as="time",
        required_compiled=30,
    ),
    *_rows(
        "counts",
        ("wake-ups of a barrier over 8 actors", inside.wake_ups_of_barrier, {"at_most": 9}),
        ("wake-ups of 1,000 calls 1:1 async", inside.wake_ups_of_async_calls, {"at_most": 2}),
        ("values that pass the driver, chain through 8 actors", inside.values_of_chain, {"at_most": 2}),
        only=OURS,
        **COUNT,
    ),
    # A group each: the first calls of a process are what they time.
    *_rows("recording 1", ("never repeats: 10,000 call lines", inside.distinct_lines, {}), **RECORDING),
    *_rows("recording 2", ("never repeats: random calls to 8 actors", inside.random_calls, {}), **RECORDING),
    *_rows(
        "many actors",
        (
            "barrier over 1,000 actors: cost of a call, over 8 actors'",
            inside.growth_with_1000_actors,
            {**COUNT, "at_most": 1.5, "once": True, "pairs": 2, "patience": 180.0, "only": OURS},
        ),
    ),
    *_rows(
        "floors",
        ("floor: futex ping-pong", floors.futex_ping_pong, {}),
        ("floor: context switch", floors.context_switch, {}),
        ("floor: memcpy 10 MB", floors.memcpy_10_mb, {}),
        only=("rayshim",),
        **TIME,
    ),
]


def arguments_from(argv):
    parser = argparse.ArgumentParser(prog="python -m benchmarks micro", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter samples")
    parser.add_argument(
        "--repeat", type=int, metavar="N", help="processes per group on Ray's sides (default 2; with --quick 1)"
    )
    parser.add_argument(
        "--rows", metavar="PATTERN", default="", help="only rows whose names match this regular expression (re.search)"
    )
    parser.add_argument(
        "--sides",
        default=",".join(sides.SIDES),
        help="names of the sides, separated by commas (default: %(default)s)",
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="PATH",
        default=RESULTS / "micro.json",
        help="path of the JSON file; the Markdown table is written into the same directory (default: %(default)s)",
    )
    arguments = parser.parse_args(argv)
    if arguments.repeat is not None and arguments.repeat < 1:
        parser.error("--repeat must be 1 or more")
    return parser, arguments


def main(argv):
    parser, arguments = arguments_from(argv)
    try:
        chosen = sides.named(arguments.sides)
        rows = [row for row in ALL_ROWS if re.search(arguments.rows, row.name, re.IGNORECASE)]
    except (ValueError, re.error) as error:
        parser.error(str(error))
    if not rows:
        parser.error(f"no row matches {arguments.rows!r}; there are: " + "; ".join(row.name for row in ALL_ROWS))
    settings = runner.settings(arguments.quick, arguments.repeat)
    found = {"benchmark": "micro", "machine": machine.describe(), "settings": asdict(settings)}
    costs = runner.run(rows, chosen, settings)
    found["sides"] = [{"name": side.name, "title": side.title, "missing": side.missing()} for side in chosen]
    found["rows"] = [report.summary(row, costs) for row in rows]
    found["left_behind"] = costs.left_behind
    report.write(found, arguments.json)
    report.show(found, arguments.json)
    return 0 if costs.samples else 1
