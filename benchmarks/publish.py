"""Markdown and plots of all results, from their JSON alone: python -m benchmarks report [--json DIRECTORY] [--readme]"""

import argparse
import json
import re
import shutil
from pathlib import Path

from rich.console import Console

from benchmarks import heads, layers, machine, order, pace_summary, plot, report, standings
from benchmarks.experiments import WORKLOADS
from benchmarks.report import three_digits

REPOSITORY = machine.REPOSITORY
READMES = (REPOSITORY / "README.md", REPOSITORY / "benchmarks" / "README.md")
PLOTS = REPOSITORY / "benchmarks" / "plots"
_TABLES = {"layers": layers, "order": order, "pace": pace_summary}
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
    lines = ["| workload | | Ray | rayshim | over Ray | results |", "| --- | --- | ---: | ---: | ---: | --- |"]
    missed = []
    for name, found in results.items():
        if name not in WORKLOADS:
            continue
        for number, case in enumerate(found["cases"]):
            rows = {row["name"]: row for row in case["rows"]}
            if "ray" not in rows or "rayshim" not in rows:
                continue
            cells = [standings.figure(rows[side], found) for side in ("ray", "rayshim")]
            ratio = rows["rayshim"]["over_ray"]
            same = {None: "", True: "same", False: "**different**"}[rows["rayshim"]["same"]]
            title = found["title"].split(":")[0] if number == 0 else ""
            lines.append(f"| {title} | {case['title']} | {' | '.join(cells)} | {three_digits(ratio) if ratio else ''} | {same} |")
            missed += [f"{name}, {case['title']}: {text}" for text, _ in standings.notes(case) if text.endswith("NOT MET")]
    # The load differs from one to the next, and stands with each.
    words = sorted({machine.in_words(r["machine"]).rpartition("; load")[0] for name, r in results.items() if name in WORKLOADS})
    text = "\n".join(lines) + "\n\n" + "\n\n".join(f"{line}." for line in words) + "\n"
    if missed:
        text += "\nNot reached:\n\n" + "\n".join(f"- {line}" for line in missed) + "\n"
    return text


def blocks(results, plots=False):
    """{name of a README's block: its Markdown}."""
    found = {name: text for name, result in results.items() if (text := section(name, result, plots))}
    if any(name in WORKLOADS for name in results):
        found["summary"] = summary(results)
    return found


def filled(text, made):
    """A README's text with the blocks that there are figures for filled with them; the others stay."""
    return _BLOCK.sub(lambda m: f"{m[1]}{made[m[2]].strip()}\n{m[3]}" if m[2] in made else m[0], text)


def main(argv):
    parser = argparse.ArgumentParser(prog="python -m benchmarks report", description=__doc__.split(":")[0] + ".")
    parser.add_argument(
        "--json", type=Path, metavar="DIRECTORY", default=heads.RESULTS, help="where the results are (default: %(default)s)"
    )
    parser.add_argument("--readme", action="store_true", help="also put the figures and plots into the READMEs")
    arguments = parser.parse_args(argv)
    console = Console()
    results = load(arguments.json)
    made = blocks(results)
    if not made:
        console.print(f"no results in {arguments.json}: run python -m benchmarks NAME first", style="red")
        return 1
    parts = [f"# Results\n\n{made.get('summary', '')}"]
    for name, result in results.items():
        if name in WORKLOADS:
            plot.heads(result, arguments.json / f"{name}.png")
            parts.append(f"## {name}\n\n{result['title']}\n\n![{name}]({name}.png)\n\n{made[name]}")
        elif name in made:
            parts.append(f"## {name}\n\n{made[name]}")
    path = arguments.json / "report.md"
    path.write_text("\n".join(parts))
    console.print(f"written: {path} and the plots beside it", highlight=False)
    if arguments.readme:
        PLOTS.mkdir(exist_ok=True)
        for name in set(results) & set(WORKLOADS):
            shutil.copy(arguments.json / f"{name}.png", PLOTS / f"{name}.png")
        made = blocks(results, plots=True)
        for readme in READMES:
            readme.write_text(filled(readme.read_text(), made))
            console.print(f"written: {readme}", highlight=False)
    return 0
