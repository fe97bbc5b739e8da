"""The output of a campaign: a line for each wrong run, counts while it runs, and a table at the end. Plain text: no other package is needed."""

import sys
import time
from collections import Counter
from dataclasses import dataclass, field

_TRACE_LINES = 40
_EACH_SECONDS = 30.0  # a line of progress


class Screen:
    """Where a campaign writes. Argument: file, a text stream; None: standard output."""

    def __init__(self, file=None):
        self.file = file
        self._next = time.monotonic() + _EACH_SECONDS

    def print(self, text=""):
        print(text, file=self.file or sys.stdout, flush=True)

    def progress(self, text):
        """Shows the line if the last one was long ago."""
        if time.monotonic() > self._next:
            self._next = time.monotonic() + _EACH_SECONDS
            self.print(text)


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


def show_wrong(screen, program, run, verdict):
    screen.print(f"seed {program.seed}, {program.placement}, ordering {program.ordering}: WRONG")
    for sentence in verdict.wrong[:20]:
        screen.print(f"  {sentence}")
    if len(verdict.wrong) > 20:
        screen.print(f"  and {len(verdict.wrong) - 20} more")
    screen.print(
        f"  program: {len(program.steps)} steps, {program.num_cpus} CPUs, a store of {program.store >> 20} MiB:"
    )
    for step in program.steps:
        screen.print(f"    {step}")
    lines = run.stderr.splitlines()
    screen.print(
        f"  its standard error, the last of {len(lines)} lines:" if lines else "  it wrote nothing to standard error"
    )
    for line in lines[-_TRACE_LINES:]:
        screen.print(f"    {line}")
    stepping = " --stepping" if program.stepping else ""
    screen.print(
        f"  again: python -m benchmarks faults --seed {program.seed} --placement {program.placement}{stepping}"
    )


def show(screen, totals):
    kills = sum(totals.kills.values())
    lines = []

    def section(title, counts):
        lines.append((title, f"{sum(counts.values()):,}"))
        lines.extend((f"  {name}", f"{number:,}") for name, number in counts.most_common())

    section("programs", totals.programs)
    section("kills", totals.kills)
    section("exceptions", totals.exceptions)
    slowest = f" (seed {totals.slowest})" if totals.slowest is not None else ""
    lines.append(("results checked", f"{totals.checked:,}"))
    lines.append(
        (f"longest from a kill to its exception{slowest}", f"{totals.latency * 1000:.0f} ms" if totals.latency else "-")
    )
    lines.append(("kills per minute", f"{60 * kills / totals.seconds:,.0f}" if totals.seconds else "-"))
    lines.append(("wrong runs", f"{len(totals.wrong):,}"))
    width = max(len(name) for name, _ in lines)
    for name, figure in lines:
        screen.print(f"  {name:{width}} {figure:>10}")
    if totals.wrong:
        screen.print("seeds of the wrong runs: " + " ".join(map(str, totals.wrong)))
