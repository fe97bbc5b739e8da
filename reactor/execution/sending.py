"""Finds why a value cannot be sent to another process."""

from __future__ import annotations

from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from reactor import codec
from reactor.picklability import NotPicklable

if TYPE_CHECKING:
    from collections.abc import Iterator


def refuse() -> None:
    """From now on, values that would be something else in another process cannot be pickled."""
    codec.reducers[Connection] = _refuse_connection


@contextmanager
def refusing() -> Iterator[None]:
    """As `refuse`, for a while."""
    refuse()
    try:
        yield
    finally:
        codec.reducers.pop(Connection, None)


def _refuse_connection(connection):
    raise TypeError("its file descriptor belongs to this process")


def why_not(value: Any) -> str | None:
    """Why a value cannot be sent; None: it can."""
    try:
        codec.dumps(value)
    except Exception as error:
        return reason_of(error, value)
    return None


def reason_of(error: Exception, value: Any = None) -> str:
    """The text of an error of sending. `value`: what was sent, if it is known."""
    if isinstance(error, NotPicklable):
        return error.reason
    return str(error) if value is None else f"{value!r} cannot be pickled: {error}"


def unsendable_error(element: str, reason: str) -> TypeError:
    """The error of a value that cannot be sent. `element`: what has this value."""
    return TypeError(
        f"The value of {element} cannot be sent to another process: {reason}. "
        "Run the program with placement inline, or create such a value in the reactor that uses it"
    )
