"""Makes Markdown tables and plots of all results from the JSON files: python -m benchmarks report [--json DIRECTORY] [--publish]"""

import argparse
import json
import re
import shutil
from pathlib import Path

from rich.console import Console

from benchmarks import heads, layers, machine, order, pace_summary, plot, report, rllib, standings
from benchmarks.experiments import WORKLOADS
from benchmarks.published import command as published
from benchmarks.report import three_digits
from benchmarks.savina import command as savina

REPOSITORY = machine.REPOSITORY
PAGES = (REPOSITORY / "benchmarks" / "RESULTS.md", REPOSITORY / "README.md")  # what --publish fills
PLOTS = REPOSITORY / "benchmarks" / "plots"
# (workload, case): from those that gain most to those that gain least.
HIGHLIGHTS = (
    ("gymnasium", "CartPole-v1"),
    ("parameter-server", "sync"),
    ("atari", "ALE/Pong-v5"),
    ("impala", "50 steps a trajectory"),
    ("qlearning", "minibatch 500"),
)
_HEAD = ("| workload | | Ray | rayshim | over Ray | results |", "| --- | --- | ---: | ---: | ---: | --- |")
_TABLES = {
    "layers": layers,
    "order": order,
    "pace": pace_summary,
    "published": published,
    "rllib": rllib,
    "savina": savina,
    "savina-small": savina,
}
_BLOCK = re.compile(r"(<!-- figures: ([\w-]+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)


def load(directory):
    """{name: what its JSON holds} of all results in a directory, in the order of the table of workloads."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted(directory.glob("*.json"))}
    return {name: found[name] for name in [*WORKLOADS, *(set(found) - set(WORKLOADS))] if name in found}


def section(name, found, plots=False):
    """The Markdown of one result, with its plot if there is a folder `plots` beside."""
    if name == "micro":
        return report.markdown(found)
    if name in _TABLES:
        return _TABLES[name].markdown(found)
    if name in WORKLOADS:
        drawn = f"![{name}](plots/{name}.png)\n\n" if plots else ""
        words = f"{machine.in_words(found['machine'])}; {heads.floors_in_words(found)}."
        published = f" Published: {found['published']}." if found["published"] else ""
        return f"{drawn}{standings.markdown(found)}\n{words}{published}\n"
    return None


def summary(results):
    """One table of all workloads, Ray's figure beside rayshim's; and what is not met."""
    lines, missed, last = [], [], None
    for name, case, line in _rows(results):
        title = results[name]["title"].split(":")[0] if name != last else ""
        lines.append(f"| {title} | {line}")
        missed += [f"{name}, {case['title']}: {text}" for text, _ in standings.notes(case) if text.endswith("NOT MET")]
        last = name
    text = "\n".join([*_HEAD, *lines]) + "\n\n" + _machines(results)
    if missed:
        text += "\nNot reached:\n\n" + "\n".join(f"- {line}" for line in missed) + "\n"
    return text


def highlights(results):
    """The rows of `summary` that the project's README shows; None if one of them was not measured."""
    found = {
        (name, case["title"]): f"| {results[name]['title'].split(':')[0]} | {line}"
        for name, case, line in _rows(results)
    }
    if any(row not in found for row in HIGHLIGHTS):
        return None
    return (
        "\n".join([*_HEAD, *(found[row] for row in HIGHLIGHTS)])
        + "\n\n"
        + _machines({name: results[name] for name, _ in HIGHLIGHTS})
    )


def _rows(results):
    """(name of the workload, its case, the case's cells as the end of a line of the summary) of each case that both sides have run."""
    for name, found in results.items():
        for case in found["cases"] if name in WORKLOADS else ():
            rows = {row["name"]: row for row in case["rows"]}
            if "ray" not in rows or "rayshim" not in rows:
                continue
            cells = [standings.figure(rows[side], found) for side in ("ray", "rayshim")]
            ratio = rows["rayshim"]["over_ray"]
            same = {None: "", True: "same", False: "**different**"}[rows["rayshim"]["same"]]
            yield (
                name,
                case,
                f"{case['title']} | {' | '.join(cells)} | {three_digits(ratio) if ratio else ''} | {same} |",
            )


def _machines(results):
    """A line for each machine, with the revisions measured there; the load differs from one result to the next, and stands with each."""
    revisions = {}
    for name, found in results.items():
        if name in WORKLOADS:
            facts, _, revision = machine.in_words(found["machine"]).rpartition("; load")[0].rpartition("; rayshim at ")
            revisions.setdefault(facts, set()).add(revision)
    return "\n\n".join(f"{facts}; rayshim at {_listed(sorted(of))}." for facts, of in sorted(revisions.items())) + "\n"


def _listed(words):
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def blocks(results, plots=False):
    """{name of a block of RESULTS.md or README.md: its Markdown}."""
    found = {name: text for name, result in results.items() if (text := section(name, result, plots))}
    if any(name in WORKLOADS for name in results):
        found["summary"] = summary(results)
    if shown := highlights(results):
        found["highlights"] = shown
    return found


def filled(text, parts):
    """A page's text with the blocks that there are figures for filled with them; the others stay."""
    return _BLOCK.sub(lambda m: f"{m[1]}{parts[m[2]].strip()}\n{m[3]}" if m[2] in parts else m[0], text)


def main(argv):
    parser = argparse.ArgumentParser(prog="python -m benchmarks report", description=__doc__.split(":")[0] + ".")
    parser.add_argument(
        "--json",
        type=Path,
        metavar="DIRECTORY",
        default=heads.RESULTS,
        help="directory of the results (default: %(default)s)",
    )
    parser.add_argument(
        "--publish",
        action="store_true",
        help="also write the figures and plots into benchmarks/RESULTS.md and README.md",
    )
    arguments = parser.parse_args(argv)
    console = Console()
    results = load(arguments.json)
    tables = blocks(results)
    if not tables:
        console.print(f"no results in {arguments.json}: run python -m benchmarks NAME first", style="red")
        return 1
    parts = [f"# Results\n\n{tables.get('summary', '')}"]
    for name, result in results.items():
        if name in WORKLOADS:
            plot.heads(result, arguments.json / f"{name}.png")
            parts.append(f"## {name}\n\n{result['title']}\n\n![{name}]({name}.png)\n\n{tables[name]}")
        elif name in tables:
            parts.append(f"## {name}\n\n{tables[name]}")
    path = arguments.json / "report.md"
    path.write_text("\n".join(parts))
    console.print(f"written: {path} and the plots beside it", highlight=False)
    if arguments.publish:
        PLOTS.mkdir(exist_ok=True)
        for name in set(results) & set(WORKLOADS):
            shutil.copy(arguments.json / f"{name}.png", PLOTS / f"{name}.png")
        tables = blocks(results, plots=True)
        for page in PAGES:
            page.write_text(filled(page.read_text(), tables))
            console.print(f"written: {page}", highlight=False)
    return 0
