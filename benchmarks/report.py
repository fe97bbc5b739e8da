"""From samples to figures: statistics, JSON, the Markdown table and the table on the terminal."""

import json
import statistics

from rich.console import Console
from rich.table import Table

from benchmarks import machine

# Spread, as a share of the median, above which a figure should not be trusted.
UNSTABLE = 0.15
# Columns of characters where the table does not go to a terminal.
FILE_WIDTH = 200


def _interquartile_range(samples):
    if len(samples) < 2:
        return 0.0
    first, _, third = statistics.quantiles(samples, n=4, method="inclusive")
    return third - first


def spread(samples):
    """The interquartile range over the median."""
    median = statistics.median(samples)
    return _interquartile_range(samples) / median if median else 0.0


def _over(sides, other, ours="rayshim"):
    """How many times ours the other side's cost is; None where one is missing, or ours is nothing."""
    # In one process there is no memory besides the driver's, and no ratio to it.
    if other not in sides or ours not in sides or not sides[ours]["median"]:
        return None
    return sides[other]["median"] / sides[ours]["median"]


def _plans(sides):
    """Cost without plans over that with them: median and spread of the ratios, a ratio per pair of processes.

    The two of a pair ran one after the other, so what else the machine did then met both.
    """
    without, with_plans = (sides.get(name, {}).get("samples", ()) for name in ("rayshim-no-plans", "rayshim"))
    ratios = [
        statistics.median(off) / statistics.median(on)
        for off, on in zip(without, with_plans, strict=False)
        if statistics.median(on)
    ]
    if not ratios:
        return None
    return {"median": statistics.median(ratios), "spread": spread(ratios), "samples": ratios}


def summary(row, costs):
    """One row as a dictionary for the JSON.

    Per side: median (of the processes' medians), spread (of all samples: interquartile range over median), and
    the samples of each process.
    """
    sides = {}
    for (name, side), samples in costs.samples.items():
        if name == row.name:
            median = statistics.median(map(statistics.median, samples))
            together = [sample for process in samples for sample in process]
            sides[side] = {"median": median, "spread": spread(together), "samples": samples}
    ratio, over_compiled, plans = _over(sides, "ray"), _over(sides, "ray-compiled"), _plans(sides)
    wanted_ratios = (
        (row.required, ratio),
        (row.required_compiled, over_compiled),
        (row.required_plans, plans and plans["median"]),
    )
    answers = [None if found is None else found >= wanted for wanted, found in wanted_ratios if wanted is not None]
    if row.at_most is not None:
        answers.append(sides["rayshim"]["median"] <= row.at_most if "rayshim" in sides else None)
    met = all(answers) if answers and (False in answers or None not in answers) else None
    return {
        "name": row.name,
        "shown_as": row.shown_as,
        "unit": row.unit,
        "sides": sides,
        "failures": {side: reason for (name, side), reason in costs.failures.items() if name == row.name},
        "ratio": ratio,
        "over_compiled": over_compiled,
        "plans": plans,
        "required": row.required,
        "required_compiled": row.required_compiled,
        "required_plans": row.required_plans,
        "at_most": row.at_most,
        "met": met,
    }


def three_digits(value):
    """A figure as text, to three digits or the unit."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def duration(seconds):
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return f"{three_digits(seconds * factor)} {unit}"
    return f"{three_digits(seconds * 1e9)} ns"


def cost(value, shown_as, unit):
    """A cost as the row shows it."""
    if shown_as == "bytes":
        return f"{three_digits(value / 2**20)} MiB"
    if shown_as == "time":
        return duration(value)
    if shown_as == "count":
        return three_digits(value)
    return f"{three_digits(1 / value)} {unit}/s"


def _cell(row, side):
    found = row["sides"].get(side)
    if found is None:
        return "failed" if side in row["failures"] else "-"
    return f"{cost(found['median'], row['shown_as'], row['unit'])} ±{found['spread']:.0%}"


def _required(row):
    parts = []
    if row["required"] is not None:
        parts.append(f"{row['required']:g}")
    if row["required_compiled"] is not None:
        parts.append(f"{row['required_compiled']:g} over Compiled Graph")
    if row["required_plans"] is not None:
        parts.append(f"plans {row['required_plans']:.2f}")
    if row["at_most"] is not None:
        parts.append(f"at most {cost(row['at_most'], row['shown_as'], row['unit'])}")
    return ", ".join(parts)


def _cells(row, sides):
    plans = row["plans"]
    return [
        row["name"],
        *(_cell(row, side["name"]) for side in sides),
        "" if row["ratio"] is None else three_digits(row["ratio"]),
        "" if row["over_compiled"] is None else three_digits(row["over_compiled"]),
        "" if plans is None else f"{plans['median']:.2f} ±{plans['spread']:.0%}",
        _required(row),
        {None: "", True: "yes", False: "**no**"}[row["met"]],
    ]


def _heading(sides):
    return ["row", *(side["title"] for side in sides), "ratio", "over Compiled Graph", "plans", "required", "met?"]


def warnings(found):
    """Warnings about the figures, as a list of sentences."""
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
    if not console.is_terminal:
        console.width = FILE_WIDTH
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
