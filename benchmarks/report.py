"""From samples to figures: statistics, JSON, the Markdown table and the table on the terminal."""

import json
import statistics

from rich.console import Console
from rich.table import Table

from benchmarks import machine

# Spread, as a share of the median, above which a figure should not be trusted.
UNSTABLE = 0.15


def _interquartile_range(samples):
    if len(samples) < 2:
        return 0.0
    first, _, third = statistics.quantiles(samples, n=4, method="inclusive")
    return third - first


def summary(row, costs):
    """One row as a dictionary for the JSON: per side median, spread (interquartile range over median), samples."""
    sides = {}
    for (name, side), samples in costs.samples.items():
        if name == row.name:
            together = [sample for process in samples for sample in process]
            median = statistics.median(together)
            spread = _interquartile_range(together) / median if median else 0.0
            sides[side] = {"median": median, "spread": spread, "samples": samples}
    ratio = met = None
    # In one process there is no memory besides the driver's, and no ratio to it.
    if "ray" in sides and "rayshim" in sides and sides["rayshim"]["median"]:
        ratio = sides["ray"]["median"] / sides["rayshim"]["median"]
    conditions = []
    if row.required is not None and ratio is not None:
        conditions.append(ratio >= row.required)
    if row.at_most is not None and "rayshim" in sides:
        conditions.append(sides["rayshim"]["median"] <= row.at_most)
    if conditions and (row.required is None or ratio is not None):
        met = all(conditions)
    return {
        "name": row.name,
        "shown_as": row.shown_as,
        "unit": row.unit,
        "sides": sides,
        "failures": {side: reason for (name, side), reason in costs.failures.items() if name == row.name},
        "ratio": ratio,
        "required": row.required,
        "at_most": row.at_most,
        "met": met,
    }


def _three_digits(value):
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def duration(seconds):
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return f"{_three_digits(seconds * factor)} {unit}"
    return f"{_three_digits(seconds * 1e9)} ns"


def cost(value, shown_as, unit):
    """A cost in seconds or bytes, as the row shows it."""
    if shown_as == "bytes":
        return f"{_three_digits(value / 2**20)} MiB"
    if shown_as == "time":
        return duration(value)
    return f"{_three_digits(1 / value)} {unit}/s"


def _cell(row, side):
    found = row["sides"].get(side)
    if found is None:
        return "failed" if side in row["failures"] else "-"
    return f"{cost(found['median'], row['shown_as'], row['unit'])} ±{found['spread']:.0%}"


def _required(row):
    parts = []
    if row["required"] is not None:
        parts.append(f"{row['required']:g}")
    if row["at_most"] is not None:
        parts.append(f"at most {cost(row['at_most'], row['shown_as'], row['unit'])}")
    return ", ".join(parts)


def _cells(row, sides):
    return [
        row["name"],
        *(_cell(row, side["name"]) for side in sides),
        "" if row["ratio"] is None else _three_digits(row["ratio"]),
        _required(row),
        {None: "", True: "yes", False: "**no**"}[row["met"]],
    ]


def _heading(sides):
    return ["row", *(side["title"] for side in sides), "ratio", "required ratio", "met?"]


def warnings(found):
    """What a reader must know before believing the figures, as a list of sentences."""
    said = []
    state = found["machine"]
    if state["load"] > 0.25 * state["cores"]:
        said.append(f"the machine was busy: load {state['load']:.2f} on {state['cores']} cores before the start")
    titles = {side["name"]: side["title"] for side in found["sides"]}
    unstable = [
        f"{row['name']} ({titles[side]} ±{figures['spread']:.0%})"
        for row in found["rows"]
        for side, figures in row["sides"].items()
        if figures["spread"] > UNSTABLE
    ]
    if unstable:
        said.append(
            f"unstable, the middle half of the samples spans more than {UNSTABLE:.0%} of the median: "
            + ", ".join(unstable)
        )
    for side, number in found["left_behind"].items():
        said.append(f"{titles[side]} left {number} processes behind, which were killed")
    return said


def failures(found):
    """Why sides failed, as sentences; one for all rows with the same reason."""
    titles = {side["name"]: side["title"] for side in found["sides"]}
    rows_of = {}
    for row in found["rows"]:
        for side, reason in row["failures"].items():
            rows_of.setdefault((titles[side], reason), []).append(row["name"])
    return [
        f"{title} failed in {names[0] if len(names) == 1 else f'{len(names)} rows'}: {reason}"
        for (title, reason), names in rows_of.items()
    ]


def markdown(found):
    heading = _heading(found["sides"])
    lines = [" | ".join(heading), " | ".join(["---"] + ["---:"] * (len(heading) - 2) + ["---"])]
    lines += [" | ".join(_cells(row, found["sides"])) for row in found["rows"]]
    text = "\n".join(f"| {line} |" for line in lines)
    text += f"\n\n{machine.in_words(found['machine'])}. Medians; ± is the interquartile range over the median.\n"
    notes = [*failures(found), *warnings(found)]
    return text + ("\n" + "\n".join(f"- {note}" for note in notes) + "\n" if notes else "")


def write(found, path):
    """Write `found` as JSON to `path`, and as Markdown beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n")
    path.with_suffix(".md").write_text(markdown(found))


def show(found, path):
    console = Console()
    table = Table(*_heading(found["sides"]))
    for column in table.columns[1:-1]:
        column.justify = "right"
    for row in found["rows"]:
        cells = _cells(row, found["sides"])
        table.add_row(*cells[:-1], {None: "", True: "[green]yes", False: "[red]no"}[row["met"]])
    console.print(table)
    console.print(machine.in_words(found["machine"]), style="dim", highlight=False)
    for note in failures(found):
        console.print(note, style="red", markup=False)
    for note in warnings(found):
        console.print(f"WARNING: {note}", style="bold yellow", markup=False)
    console.print(f"written: {path}, {path.with_suffix('.md')}", highlight=False)
