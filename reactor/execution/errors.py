"""The errors with which a program fails."""

from __future__ import annotations

import re
import traceback
from typing import TYPE_CHECKING

from reactor import codec

if TYPE_CHECKING:
    from reactor.model.elements import Reaction


class ReactionError(RuntimeError):
    """A reaction raised; `__cause__` is what it raised.

    Attributes:
        reactor, reaction, site: path of the reactor, name of the reaction, and where that is declared.
        elapsed, microstep: the tag, as nanoseconds since the start.
    """

    reactor: str
    reaction: str
    site: str
    elapsed: int
    microstep: int

    def __init__(self, reaction: Reaction, elapsed: int, microstep: int, error: BaseException) -> None:
        self.reactor, self.reaction, self.site = reaction.instance.path, reaction.name, reaction.site
        self.elapsed, self.microstep = elapsed, microstep
        super().__init__(
            f"Reaction {reaction.path} ({reaction.site}) raised {type(error).__name__} at tag ({elapsed} ns, {microstep}): {error}{_remedy(reaction, error)}"
        )


def _remedy(reaction, error):
    """The remedy, for an error, if code uses a port, an action or the like that its reaction does not declare."""
    found = re.match(r"name '(\w+)' is not defined", str(error)) if isinstance(error, NameError) else None
    instance = reaction.instance
    known = (instance.ports, instance.actions, instance.watchdogs, instance.modes, [c.name for c in instance.children])
    if found and any(found[1] in names for names in known):
        return f". This reactor has {found[1]}: add it to the reaction's triggers, sources or effects"
    return ""


class WorkerError(RuntimeError):
    """A worker process ended while it ran reactions; the message names the first of them and the tag."""

    def __init__(self, worker: int, reaction: Reaction, elapsed: int, microstep: int, facts: str) -> None:
        self.worker, self.reaction, self.facts = worker, reaction.path, facts
        super().__init__(
            f"Worker {worker} ended while it ran {reaction.path} ({reaction.site}) at tag ({elapsed} ns, {microstep}): {facts}"
        )


class WorkerTraceback(Exception):
    """The cause of an error that a reaction raised in a worker: the traceback there, as text."""

    def __str__(self) -> str:
        return f"\n{self.args[0].rstrip()}"


def for_sending(error: Exception) -> tuple[Exception, str]:
    """(an error, its traceback as text) for another process; the error is a RuntimeError with its text if it cannot be pickled."""
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    try:
        again = codec.loads(*codec.dumps(error))
        sent = error if type(again) is type(error) else None
    except Exception:
        sent = None
    return sent or RuntimeError(f"{type(error).__qualname__}: {error}"), "".join(lines)
