"""Runs programs for tests."""

from reactor.lf.instantiating import load
from reactor.program import Program


def program(folder, text, name="main", **settings):
    """The Program of a Lingua Franca text, traced and not waiting for the clock."""
    path = folder / f"{name}.lf"
    path.write_text(f"target Python\n{text}\n")
    top, found = load(str(path))
    return Program(top, **{"fast": True, "trace": True, **found, **settings})


def trace_of(ran):
    """The lines of the trace of a Program that ran, without the name of the topmost reactor."""
    return [line.replace(f" {ran.top.name}.", " ", 1) for line in ran.trace.lines()]


def lines(text):
    return [line.strip() for line in text.strip().splitlines()]
