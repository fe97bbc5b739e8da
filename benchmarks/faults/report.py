"""The output of a campaign: a line for each wrong run, counts while it runs, and a table at the end."""

from collections import Counter
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from benchmarks.report import FILE_WIDTH, duration

_TRACE_LINES = 40


@dataclass
class Totals:
    programs: Counter = field(default_factory=Counter)  # by placement
    kills: Counter = field(default_factory=Counter)  # by victim
    exceptions: Counter = field(default_factory=Counter)
    checked: int = 0
    latency: float = 0.0
    slowest: int | None = None  # seed of the run with that latency
    wrong: list = field(default_factory=list)  # seeds
    seconds: float = 0.0

    def add(self, program, run, verdict):
        self.programs[program.placement] += 1
        self.kills += verdict.kills
        self.exceptions += verdict.exceptions
        self.checked += verdict.checked
        self.seconds += run.seconds
        if verdict.latency > self.latency:
            self.latency, self.slowest = verdict.latency, program.seed
        if verdict.wrong:
            self.wrong.append(program.seed)


def console():
    shown = Console(highlight=False)
    if not shown.is_terminal:
        shown.width = FILE_WIDTH
    return shown


def show_wrong(screen, program, run, verdict):
    screen.print(
        f"seed {program.seed}, {program.placement}, ordering {program.ordering}: WRONG", style="bold red", markup=False
    )
    for sentence in verdict.wrong[:20]:
        screen.print(f"  {sentence}", style="red", markup=False)
    if len(verdict.wrong) > 20:
        screen.print(f"  and {len(verdict.wrong) - 20} more", style="red")
    screen.print(
        f"  program: {len(program.steps)} steps, {program.num_cpus} CPUs, a store of {program.store >> 20} MiB:",
        markup=False,
    )
    for step in program.steps:
        screen.print(f"    {step}", style="dim", markup=False)
    lines = run.stderr.splitlines()
    screen.print(
        f"  its standard error, the last of {len(lines)} lines:" if lines else "  it wrote nothing to standard error"
    )
    for line in lines[-_TRACE_LINES:]:
        screen.print(f"    {line}", style="dim", markup=False)
    stepping = " --stepping" if program.stepping else ""
    screen.print(
        f"  again: python -m benchmarks faults --seed {program.seed} --placement {program.placement}{stepping}",
        markup=False,
    )


def show(screen, totals):
    kills = sum(totals.kills.values())
    table = Table("", "count", title="faults")
    table.columns[1].justify = "right"

    def section(title, counts):
        table.add_section()
        table.add_row(f"[bold]{title}", f"{sum(counts.values()):,}")
        for name, number in counts.most_common():
            table.add_row(f"  {name}", f"{number:,}")

    section("programs", totals.programs)
    section("kills", totals.kills)
    section("exceptions", totals.exceptions)
    table.add_section()
    table.add_row("results checked", f"{totals.checked:,}")
    slowest = f" (seed {totals.slowest})" if totals.slowest is not None else ""
    table.add_row(f"longest from a kill to its exception{slowest}", duration(totals.latency) if totals.latency else "-")
    table.add_row("kills per minute", f"{60 * kills / totals.seconds:,.0f}" if totals.seconds else "-")
    table.add_row("wrong runs", f"{len(totals.wrong):,}", style="red" if totals.wrong else "green")
    screen.print(table)
    if totals.wrong:
        screen.print("seeds of the wrong runs: " + " ".join(map(str, totals.wrong)), style="red")
