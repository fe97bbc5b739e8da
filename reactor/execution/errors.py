"""How a program fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
            f"Reaction {reaction.path} ({reaction.site}) raised {type(error).__name__} at tag ({elapsed} ns, {microstep}): {error}"
        )


class WorkerError(RuntimeError):
    """A worker process ended while it ran reactions; the message names the first of them and the tag."""

    def __init__(self, worker: int, reaction: Reaction, elapsed: int, microstep: int, facts: str) -> None:
        self.worker, self.reaction, self.facts = worker, reaction.path, facts
        super().__init__(
            f"Worker {worker} ended while it ran {reaction.path} ({reaction.site}) at tag ({elapsed} ns, {microstep}): {facts}"
        )
