"""Summarizes the runs of a program with concurrent loops: the progress of each loop compared with Ray, and the cost of order."""

import statistics

from benchmarks import machine, report

# The goals of every program, with the default order of rayshim.
LEAST_PROGRESS = 0.8  # of each loop, over Ray's
MOST_TIME = 1.1  # over the same program's by arrival, and beyond that
MORE_SECONDS = 0.2
# A loop that makes fewer steps on Ray than this is not compared: one step more or less would be a fifth.
FEWEST_STEPS = 5


def rate(run, loop, first_second):
    """Steps a second of a loop over the first second of a run, or over the whole of it."""
    counts, seconds = run["loops"][loop], run["seconds"]
    return counts["1"] if first_second and "1" in counts else counts["end"] / seconds


def least(rays, ours, first_second):
    """The loop whose progress is least beside Ray's: its name, that ratio and the ratio's spread. None if no loop is compared.

    `rays` and `ours` are runs that took turns; a loop's ratio is the median over the pairs, so what else the machine did
    meets both sides.
    """
    pairs = list(zip(rays, ours, strict=False))
    found = []
    for loop in rays[0]["loops"]:
        on_ray = [rate(run, loop, first_second) for run in rays]
        steps = min(
            speed * (min(1.0, run["seconds"]) if first_second else run["seconds"])
            for speed, run in zip(on_ray, rays, strict=True)
        )
        if steps >= FEWEST_STEPS:
            ratios = [rate(our, loop, first_second) / rate(ray, loop, first_second) for ray, our in pairs]
            found.append({"loop": loop, "ratio": statistics.median(ratios), "spread": report.spread(ratios)})
    return min(found, key=lambda entry: entry["ratio"], default=None)


def summary(runs, placement):
    """One row of the table: a program in one placement.

    `runs` has a list of runs by side. Progress (`first_second`, `whole`), also by arrival, is None where Ray's or our run failed.
    `met` is None where nothing is required or nothing was found; `reasons` says why runs failed.
    """
    rays, ours, arrivals = (_good(runs, name) for name in ("ray", placement, f"{placement}-arrival"))
    serial = placement == "inline"
    failed = [
        f"{name}: {run['reason']}"
        for name in ("ray", placement, f"{placement}-arrival")
        for run in runs.get(name, ())
        if run["reason"]
    ]
    row = {
        "placement": placement,
        "first_second": least(rays, ours, True) if rays and ours and not serial else None,
        "whole": least(rays, ours, False) if rays and ours and not serial else None,
        "whole_by_arrival": least(rays, arrivals, False) if rays and arrivals and not serial else None,
        "seconds": _median(ours),
        "ray_seconds": _median(rays),
        "arrival_seconds": _median(arrivals),
        "spread": report.spread([run["seconds"] for run in ours]) if ours else 0.0,
        "reasons": failed,
    }
    return {**row, "met": None if serial else _met(row, runs.get(placement, ()))}


def _good(runs, name):
    return [run for run in runs.get(name, ()) if not run["reason"]]


def _median(runs):
    return statistics.median(run["seconds"] for run in runs) if runs else None


def _met(row, ours):
    """Whether a row has what is required; False for a program that did not end, None if there is nothing to hold it against."""
    if any(run["reason"] for run in ours):
        return False
    progress = [row["first_second"], row["whole"]]
    if row["seconds"] is None or row["arrival_seconds"] is None or None in progress:
        return None
    in_time = row["seconds"] <= MOST_TIME * row["arrival_seconds"] + MORE_SECONDS
    return in_time and all(entry["ratio"] >= LEAST_PROGRESS for entry in progress)


HEADING = [
    "program",
    "placement",
    "first second",
    "whole run",
    "by arrival",
    "time",
    "over Ray's",
    "over arrival's",
    "met?",
]
MEANING = (
    "Progress: of the loop that is furthest behind its own on Ray, steps a second over Ray's, in the first second and in the whole run. "
    f"Required: at least {LEAST_PROGRESS:g} in both, and no more time than {MOST_TIME:g} times the program's by arrival plus {MORE_SECONDS:g} s. "
    "Medians of pairs of runs; ± is the interquartile range over the median."
)


def _progress(entry):
    return "-" if entry is None else f"{entry['ratio']:.2f} ±{entry['spread']:.0%} {entry['loop']}"


def _over(seconds, other):
    return "-" if seconds is None or not other else f"{seconds / other:.2f}"


def cells(name, row):
    """A row's cells for the table, but for the last."""
    seconds = row["seconds"]
    time = ("failed" if row["reasons"] else "-") if seconds is None else f"{seconds:.2f} s ±{row['spread']:.0%}"
    progress = [_progress(row[kind]) for kind in ("first_second", "whole", "whole_by_arrival")]
    return [
        name,
        row["placement"],
        *progress,
        time,
        _over(seconds, row["ray_seconds"]),
        _over(seconds, row["arrival_seconds"]),
    ]


def notes(found):
    """The notes below the table, as sentences: runs that failed, and programs that are not run inline."""
    said = []
    for program in found["programs"]:
        said += [
            f"{program['name']}, {reason}"
            for row in program["rows"]
            for reason in row["reasons"]
            if not reason.startswith("ray: ")
        ]
        said += [f"{program['name']}, ray: {run['reason']}" for run in program["runs"].get("ray", ()) if run["reason"]]
        if program["not_inline"]:
            said.append(f"{program['name']} is not run inline: {program['not_inline']}")
    return said


def markdown(found):
    """The table of a result's JSON."""
    lines = [HEADING, ["---", "---", *["---:"] * 6, "---"]]
    for program in found["programs"]:
        for row in program["rows"]:
            lines.append([*cells(program["name"], row), {None: "", True: "yes", False: "**no**"}[row["met"]]])
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    text += f"\n\n{machine.in_words(found['machine'])}. {MEANING}\n"
    return text + "".join(f"\n- {note}" for note in notes(found)) + "\n"
