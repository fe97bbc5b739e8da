"""Errors in Lingua Franca programs, shown as a compiler shows them."""

import sys
from contextlib import contextmanager

from reactor.printable import printable


class LFError(ValueError):
    """A program that cannot be run: file, line and column, what was found, and the line with a caret under the place."""

    def __init__(self, message, path, text="", line=0, column=0, kind="error"):
        self.path, self.line, self.column = path, line, column
        self._facts = message, path, text, line, column, kind
        lines = text.splitlines()
        shown = f"\n  {lines[line - 1]}\n  {' ' * (column - 1)}^" if 0 < line <= len(lines) else ""
        where = f"{path}:{line}:{column}" if line else str(path)
        super().__init__(printable(f"{where}: {kind}: {message}{shown}", lines=True))

    def __reduce__(self):
        return type(self), self._facts


class CodeError(LFError):
    """Code that runs before the program does raised an exception: `__cause__`, with its traceback from the program's own code on."""


def at(node, message, kind=LFError):
    """The LFError for a syntax node or token of a file."""
    return kind(message, node.file.path, node.file.text, node.line, node.column)


def warn(node, message):
    """Tells on stderr what may be wrong."""
    print(LFError(message, node.file.path, node.file.text, node.line, node.column, "warning"), file=sys.stderr)


@contextmanager
def running(node, what):
    """Around code of a program that runs before the program does: `what` it is, for the CodeError."""
    try:
        yield
    except LFError:
        raise
    except Exception as error:
        own = error.__traceback__
        while own and own.tb_frame.f_code.co_filename != node.file.path:
            own = own.tb_next
        message = f"{what} raised {type(error).__name__}: {error}"
        raise at(node, message, CodeError) from error.with_traceback(own or error.__traceback__)
