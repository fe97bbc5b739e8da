"""Compares a replay with its journal: the calls, their arguments and their results, by their digests.

Each process knows the first of its calls that differs, and shows it to the driver, which tells the user at the end which of them is the first in the
program's serial order. A call that was cancelled has no value of its own, and is not compared.
"""

import contextlib
from typing import Any, NamedTuple

from reactor import _core
from reactor.printable import printable

from rayshim.journal.recording import name_of
from rayshim.journal.texts import error_text, given_texts, short_text
from rayshim.session import session

_DIFFERS = "differs"
_MOST = 2000  # characters of a call that the driver reports
#: Whether a replay in this process had other values than its journal. The command `rayshim --replay` then ends with status 3.
found = False


class Ran(NamedTuple):
    """The fields of a journal's line "ran" that are compared; `where`: "file:line" of the line."""

    name: str
    given: str
    digest: str
    failed: str | None  # the class of its exception
    where: str


def ran(line):
    """The Ran of a line, None for a call that was cancelled while it ran."""
    if line["cancelled"]:
        return None
    return Ran(line["name"], line["given"], line["digest"], _class_of(line["error"]), line["where"])


def _class_of(text):
    return text and text.partition(":")[0]


class Checker:
    """Compares the calls that run in this process. `expected`: {(tag, (actor's ordinal, life) or (None, None)): Ran}; `made`: {tag of a caller: number of
    calls that it made}."""

    def __init__(self, expected, made):
        self._expected, self._made = expected, made
        self._first: Any = None  # the place of the first difference in serial order
        self.makes = {}  # tag of a caller that runs here -> number of calls that it has made

    def executed(self, facts, key, method, tag, given_digest, digest, given, value, error, cancelled):
        """A call has run here: the arguments are those of the core's hook, `facts` and `key` the actor's."""
        makes = self.makes.pop(tag, 0)
        then = self._expected.get((tag, key))
        if then is None or cancelled:
            return
        name, failed = name_of(method), error and type(error).__name__
        other_arguments = (name, f"{given_digest:016x}") != (then.name, then.given)
        fewer = makes < self._made.get(tag, 0)
        if not other_arguments and not fewer and (failed, f"{digest:016x}") == (then.failed, then.digest):
            return
        place = tag if other_arguments else (*tag, float("inf"))  # the end of a call comes after all calls that it made
        if self._first is not None and self._first <= place:
            return
        self._first = place
        called = f"{name}({', '.join(given_texts(given))})"
        here = f"{called} raises {error_text(error)}" if error is not None else f"{called} -> {short_text(value)}"
        if fewer:
            here += f", after {makes} of its {self._made[tag]} calls"
        whose = f"{facts['class_name']}.{name} of actor {key[0]}" if facts else f"task {name}"
        with contextlib.suppress(RuntimeError):  # the session has just ended
            session.current.placement.post((_DIFFERS, _core.slot()), (place, whose, tag, here[:_MOST], then.where))


def first():
    """In the driver, before the end of a replay: the first difference of all processes, as a text; "" if there is none."""
    try:
        differences = session.current.placement.posted(_DIFFERS, timeout=30)
    except (TimeoutError, RuntimeError):
        return ""
    if not differences:
        return ""
    _, whose, tag, here, where = min(differences.values(), key=lambda difference: difference[0])
    return (
        f"rayshim: replay: the values of this run differ from those of its journal, first at {printable(whose)} (tag {'.'.join(map(str, tag))}):\n"
        f"  journal: {printable(_shown(where))} ({printable(where)})\n"
        f"  here:    {printable(here)}\n"
        "  All that depends on this call may differ, too. Values that depend on clocks, process ids, files or the environment differ in each run; the "
        "order of a set of strings does so unless PYTHONHASHSEED is set"
    )


def _shown(where):
    """The call in the line `where` of a journal, "file:line", as text."""
    import json

    path, _, number = where.rpartition(":")
    with open(path, "rb") as file:
        for at, line in enumerate(file, 1):
            if at == int(number):
                return call_text(json.loads(line))
    return "?"


def call_text(line):
    """The call of a journal's line "ran": "name(arguments) -> value", or what it raised."""
    called = f"{line['name']}({', '.join(line['args'])})"
    return f"{called} raises {line['error']}" if line["error"] is not None else f"{called} -> {line['value']}"
