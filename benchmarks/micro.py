"""Microbenchmark: what one operation costs on rayshim and on Ray, in the same run."""

import argparse
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks import machine, report, runner, sides, workloads

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Row:
    """A row of the table.

    A sample is the cost of one unit of work: seconds, or bytes for `shown_as="bytes"`. A row is shown as
    "time", "bytes", or "rate" in units of `unit` a second; the ratio is always Ray's cost over rayshim's.
    `required` is what the ratio must reach, `at_most` what rayshim's cost must not exceed. A sample takes in
    `operations` or more, and so does the warm-up, which matters where fast and slow ones take turns. Rows of
    one `group` are measured in one process; those without a workload come from benchmarks.startup.
    """

    name: str
    group: str
    workload: Callable | None = None
    shown_as: str = "rate"
    unit: str = "calls"
    required: float | None = None
    at_most: float | None = None
    operations: int = 1
    only: tuple[str, ...] = ()


def _rows(group, *rows):
    return [Row(name, group, workload, **options) for name, workload, options in rows]


TIME = {"shown_as": "time"}

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
        ("1:1 actor calls sync", workloads.actor_calls_sync, {"required": 50}),
        ("1:1 actor calls async", workloads.actor_calls_async, {"required": 60}),
        ("1:1 actor calls concurrent", workloads.actor_calls_concurrent, {}),
        ("1:n actor calls async", workloads.one_to_many_calls, {}),
        ("n:n actor calls async", workloads.many_to_many_calls, {}),
        ("n:n actor calls with arg async", workloads.many_to_many_calls_with_argument, {}),
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
        ("barrier over 8 actors", workloads.barrier, {**TIME, "required": 35}),
        ("barrier over 8 actors, observations", workloads.barrier_with_observations, {**TIME, "required": 35}),
        ("echo 1 KB array", workloads.echo_1_kb, TIME),
        ("echo 1 MB array", workloads.echo_1_mb, {**TIME, "required": 8}),
        ("broadcast 10 MB to 8 actors", workloads.broadcast_10_mb, {**TIME, "required": 10}),
        ("chain through 8 actors", workloads.chain, TIME),
    ),
    *_rows(
        "floor",
        ("floor: futex ping-pong", workloads.futex_ping_pong, {**TIME, "only": ("rayshim",)}),
    ),
]


def arguments_from(argv):
    parser = argparse.ArgumentParser(prog="python -m benchmarks micro", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter samples: under 2 minutes")
    parser.add_argument("--repeat", type=int, metavar="N", help="processes per side and group (2; quick: 1)")
    parser.add_argument("--rows", metavar="PATTERN", default="", help="only rows whose names match, as in re.search")
    parser.add_argument("--sides", default="ray,rayshim", help="which sides, by name, with commas between")
    parser.add_argument(
        "--json",
        type=Path,
        metavar="PATH",
        default=RESULTS / "micro.json",
        help="where the JSON goes; the Markdown table goes beside it (default: %(default)s)",
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
