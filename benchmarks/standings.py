"""From the runs of a contest to figures: one table per case, what was required, and whether all computed the same."""

import itertools
import statistics

from benchmarks.report import UNSTABLE, cost, spread, three_digits


def summary(workload, case, runs):
    """The part of a case's JSON that is computed from its `runs` (by competitor, lists of dicts as of `program.run`).

    A list with a row per competitor: `cost` (seconds per unit of work, median of the processes' medians), its `spread`
    (interquartile range of all rounds over the median), `over_ray` (Ray's cost over it), `of_limit` (the limit's cost over
    it), `same` (whether it computed what the first did; None if it need not), `pace` (of the machine while it ran, over the best that
    was seen in this case), `start_up`, `peak_memory`, `reason` of its failure. And a list with an entry per requirement: `ours`,
    `other`, `at_least`, `found` (None if one failed), `met`.
    """
    rows = [_row(competitor, case, runs[competitor.name]) for competitor in workload.of(case)]
    by_name = {row["name"]: row for row in rows}
    compared = [c.name for c in workload.of(case) if c.same and any(run["traces"] for run in runs[c.name])]
    paces = {name: [pace for run in of_one for pace in run.get("paces", ())] for name, of_one in runs.items()}
    best = min(itertools.chain.from_iterable(paces.values()), default=None)
    first = next((run for name in compared for run in runs[name] if run["traces"]), None)
    for row in rows:
        row["over_ray"] = _over(by_name, "ray", row)
        row["of_limit"] = _over(by_name, "limit", row)
        row["pace"] = best / statistics.mean(paces[row["name"]]) if paces[row["name"]] else None
        if row["name"] in compared:
            row["same"] = all(_same(first, run) for run in runs[row["name"]])
    answers = []
    for wanted in case.required:
        if not {wanted.ours, wanted.other} <= by_name.keys():
            continue  # left out by choice
        found = _over(by_name, wanted.other, by_name[wanted.ours])
        met = None if found is None else found >= wanted.at_least
        answers.append(
            {"ours": wanted.ours, "other": wanted.other, "at_least": wanted.at_least, "found": found, "met": met}
        )
    return {"rows": rows, "required": answers}


def _row(competitor, case, runs):
    good = [run for run in runs if not run["reason"]]
    reason = next((run["reason"] for run in runs if run["reason"]), None)
    row = {
        "name": competitor.name,
        "title": competitor.title,
        "cost": None,
        "spread": None,
        "same": None,
        "reason": reason,
    }
    row |= {"left_behind": sum(run["left_behind"] for run in good)}
    if good and not reason:
        share = case.work * competitor.shared
        row["cost"] = statistics.median(statistics.median(run["rounds"]) for run in good) / share
        row["spread"] = spread([seconds for run in good for seconds in run["rounds"]])
        row["start_up"] = statistics.median(run["start_up"] for run in good)
        row["peak_memory"] = max(run["peak_memory"] for run in good)
    return row


def _over(by_name, other, row):
    theirs = by_name.get(other, {}).get("cost")
    return theirs / row["cost"] if theirs and row["cost"] else None


def _same(one, other):
    """Whether two runs computed the same, as far as both went."""
    rounds = min(len(one["traces"]), len(other["traces"]))
    ends = len(one["traces"]) != len(other["traces"]) or one["trace"] == other["trace"]
    return rounds > 0 and one["traces"][:rounds] == other["traces"][:rounds] and ends


SAME = "same results"
HEADING = ("", "{per}", "over Ray", "of the limit", SAME, "pace", "start-up", "memory")


def heading(found):
    """The titles of the columns; the figure's own says what it is."""
    return [title.format(per=f"{found['unit']} a second" if found["unit"] else "time") for title in HEADING]


def figure(row, found):
    """A row's cost, or what it does in a second, as text."""
    return "failed" if row["cost"] is None else cost(row["cost"], "rate" if found["unit"] else "time", found["unit"])


def cells(row, found):
    """A row's texts, in the order of the heading."""
    if row["cost"] is None:
        return [row["title"], "failed", *[""] * (len(HEADING) - 2)]
    per = f" {found['unit']}/s"
    return [
        row["title"],
        f"{figure(row, found).removesuffix(per)} ±{row['spread']:.0%}",
        "" if row["over_ray"] is None else three_digits(row["over_ray"]),
        "" if row["of_limit"] is None else f"{row['of_limit']:.0%}",
        {None: "not comparable", True: "yes", False: "NO"}[row["same"]],
        "" if row.get("pace") is None else f"{row['pace']:.0%}",
        f"{row['start_up']:.2f} s",
        f"{row['peak_memory'] / 2**20:,.0f} MiB",
    ]


def notes(case):
    """The notes below a case's table: failures, requirements, doubts; (sentence, style) pairs."""
    titles = {row["name"]: row["title"] for row in case["rows"]}
    said = [(f"{row['title']} failed: {row['reason']}", "red") for row in case["rows"] if row["reason"]]
    for wanted in case["required"]:
        ours, other = titles[wanted["ours"]], titles[wanted["other"]]
        found = "could not be measured" if wanted["found"] is None else f"found {three_digits(wanted['found'])}"
        word = {None: "unknown", True: "met", False: "NOT MET"}[wanted["met"]]
        text = f"required: {ours} against {other} at least {three_digits(wanted['at_least'])}, {found}: {word}"
        said.append((text, {None: "yellow", True: "green", False: "bold red"}[wanted["met"]]))
    different = [row["title"] for row in case["rows"] if row["same"] is False]
    if different:
        said.append((f"DIFFERENT RESULTS from the first row's: {', '.join(different)}", "bold red"))
    unstable = [row["title"] for row in case["rows"] if row["spread"] is not None and row["spread"] > UNSTABLE]
    if unstable:
        said.append(
            (f"unstable, the middle half of the rounds spans more than {UNSTABLE:.0%}: {', '.join(unstable)}", "yellow")
        )
    paces = [row["pace"] for row in case["rows"] if row.get("pace") is not None]
    if paces and max(paces) > (1 + UNSTABLE) * min(paces):
        said.append(
            (f"the machine's pace differed from row to row: {min(paces):.0%} to {max(paces):.0%} of its best", "yellow")
        )
    left = [f"{row['title']} {row['left_behind']}" for row in case["rows"] if row["left_behind"]]
    if left:
        said.append((f"processes left behind, which were killed: {', '.join(left)}", "yellow"))
    return said


def markdown(found):
    """The tables of a workload's JSON as Markdown."""
    parts = []
    for case in found["cases"]:
        titles = heading(found)
        lines = [titles, ["---" if title in ("", SAME) else "---:" for title in titles]]
        lines += [cells(row, found) for row in case["rows"]]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        said = "\n".join(f"- {text}" for text, _ in notes(case))
        parts.append(f"**{case['title']}**\n\n{table}\n\n{said}\n")
    return "\n".join(parts)
