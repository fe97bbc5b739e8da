"""Runs workloads of `experiments` on every competitor, alternating, each in a process of its own."""

import itertools
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import program


@dataclass(frozen=True)
class Effort:
    """How much is measured: `repeat` processes per competitor, `share` of each workload's rounds in each."""

    repeat: int
    share: float
    quick: bool


def effort(quick, repeat=None, share=None):
    """The usual Effort, or that of a quick run; with another number of processes or share of the rounds if given."""
    usual = Effort(1, 0.25, True) if quick else Effort(3, 1.0, False)
    return Effort(repeat or usual.repeat, share or usual.share, quick)


def run(workload, effort, progress=None):
    """Runs one workload and gives, per case, what there is for the JSON: a list of dicts with its `runs` by competitor.

    A run that fails is kept, with its reason, and its competitor is not asked again in that case. `progress` is a rich
    Progress that gets a bar; default: none is shown.
    """
    cases = [case for case in workload.cases if case.quick or not effort.quick]
    found = []
    bar = progress and progress.add_task(workload.title, total=_runs(workload, cases, effort))
    with tempfile.TemporaryDirectory(prefix="rayshim-contest-") as directory:
        files = (Path(directory, f"{number}.jsonl") for number in itertools.count())
        for case_number, case in enumerate(cases):
            profiles = Path(directory, f"profiles-{case_number}")
            runs = {competitor.name: [] for competitor in workload.of(case)}
            for number in range(effort.repeat):
                for competitor in list(workload.of(case))[:: 1 if number % 2 == 0 else -1]:
                    if progress:
                        progress.update(bar, description=f"{workload.name}, {case.title}: {competitor.title}")
                    if not any(run["reason"] for run in runs[competitor.name]):
                        runs[competitor.name].append(_run(workload, case, competitor, effort, files, profiles))
                    if progress:
                        progress.advance(bar)
            found.append({"title": case.title, "options": case.options, "work": case.work, "runs": runs})
    return found


def _runs(workload, cases, effort):
    return effort.repeat * sum(len(list(workload.of(case))) for case in cases)


def _run(workload, case, competitor, effort, files, profiles):
    missing = competitor.missing()
    if missing:
        return {"reason": missing, "rounds": [], "traces": []}
    rounds = max(round(workload.rounds * effort.share * (1.0 if competitor.slow else workload.longer)), 3)
    options = {**case.options, **competitor.options, "rounds": rounds, "warm_up": workload.warm_up}
    side, name = competitor.side, competitor.program or workload.program
    if competitor.learns:
        side = replace(side, environment={**side.environment, "XDG_CACHE_HOME": str(profiles)})
        if not profiles.exists():
            for _ in range(competitor.learns):
                program.run(side, name, options, next(files), workload.patience)
    return program.run(side, name, options, next(files), workload.patience)


def shown():
    """The Progress that `run` draws on, a context manager."""
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    return Progress(*columns, refresh_per_second=2)
