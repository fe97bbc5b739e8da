"""The table that compares two runs of one program."""

from rayshim.cli.compare import plain

# Title, key, function that gives the value as text, and whether more is better.
FIGURES = [
    ("wall time", "wall", lambda value: f"{value:.2f} s", False),
    ("start-up", "start_up", lambda value: f"{value:.2f} s", False),
    ("processor time, all processes", "cpu", lambda value: f"{value:.1f} s", False),
    ("peak proportional set size", "peak_memory", lambda value: f"{value / 2**20:,.0f} MiB", False),
]


def table(titles, runs, figures, title):
    """A table for the console: a row per figure, a column per run, and, for two runs, a column that says how many times better the second is.

    `runs` are dicts with the figures' keys; a value that is None or missing shows as "-". Returns a rich Table, or a str without rich.
    """
    headings = ["", *titles, *(["times better"] if len(runs) == 2 else [])]
    return plain.table(title, headings, [_row(runs, *figure) for figure in figures])


def _row(runs, name, key, form, more_is_better):
    values = [run.get(key) for run in runs]
    cells = ["-" if value is None else form(value) for value in values]
    if len(runs) == 2:
        one, other = values[::-1] if more_is_better else values
        cells.append(f"{one / other:.1f}" if one and other else "-")
    return [name, *cells]
