"""A console and tables, with and without the package rich."""

import contextlib


def console():
    """A rich Console, or a PlainConsole where rich is not installed."""
    try:
        from rich.console import Console
    except ModuleNotFoundError:
        return PlainConsole()
    return Console()


class PlainConsole:
    """Prints as text what rich's Console prints in colours. Styles are ignored."""

    def print(self, *objects, **style):
        print(*objects, flush=True)

    def status(self, text):
        return contextlib.nullcontext()


def table(title, headings, rows):
    """A table for the console, of text: the first column to the left, the others to the right. A rich Table, or a str without rich."""
    try:
        from rich.table import Table
        from rich.text import Text
    except ModuleNotFoundError:
        return text_table(title, headings, [*rows])
    shown = Table(title=title, title_justify="left")
    for column, heading in enumerate(headings):
        shown.add_column(heading, justify="right" if column else "left", no_wrap=column > 0)
    for row in rows:
        shown.add_row(*map(Text, row))  # no markup: a name may have brackets
    return shown


def text_table(title, headings, rows):
    """The table as text: the first column to the left, the others to the right."""
    cells = [headings, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    lines = [
        "  ".join(
            text.rjust(width) if i else text.ljust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]
    return "\n".join([*filter(None, [title]), lines[0].rstrip(), "-" * max(len(line) for line in lines), *lines[1:]])
