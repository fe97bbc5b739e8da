"""What the code of a function refers to."""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def with_nested(code: CodeType) -> Iterator[CodeType]:
    """The code, and that of the functions and classes inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from with_nested(constant)


def names(code: CodeType) -> Iterator[str]:
    """The names of globals and attributes that it uses."""
    for one in with_nested(code):
        yield from one.co_names


def closure(function: FunctionType) -> dict[str, Any]:
    """The variables of outer functions that it uses, {name: value}, without those that are not set yet."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            pass
    return found
