"""Errors in Lingua Franca programs, shown as a compiler shows them."""


class LFError(ValueError):
    """A program that cannot be run: file, line and column, what was found, and the line with a caret under the place."""

    def __init__(self, message, path, text="", line=0, column=0):
        self.path, self.line, self.column = path, line, column
        lines = text.splitlines()
        shown = f"\n  {lines[line - 1]}\n  {' ' * (column - 1)}^" if 0 < line <= len(lines) else ""
        where = f"{path}:{line}:{column}" if line else str(path)
        super().__init__(f"{where}: error: {message}{shown}")


def at(node, message):
    """The LFError for a syntax node or token of a file."""
    return LFError(message, node.file.path, node.file.text, node.line, node.column)
