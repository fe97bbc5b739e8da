"""How a program fails."""


class ReactionError(RuntimeError):
    """A reaction raised; `__cause__` is what it raised.

    Attributes:
        reactor, reaction, site: path of the reactor, name of the reaction, and where that is declared.
        elapsed, microstep: the tag, as nanoseconds since the start.
    """

    def __init__(self, reaction, elapsed, microstep, error):
        self.reactor, self.reaction, self.site = reaction.instance.path, reaction.name, reaction.site
        self.elapsed, self.microstep = elapsed, microstep
        super().__init__(
            f"Reaction {reaction.path} ({reaction.site}) raised {type(error).__name__} at tag ({elapsed} ns, {microstep}): {error}"
        )


class WorkerError(RuntimeError):
    """A worker process ended while it ran reactions; the message names the first of them and the tag."""

    def __init__(self, worker, reaction, elapsed, microstep, facts):
        self.worker, self.reaction, self.facts = worker, reaction.path, facts
        super().__init__(
            f"Worker {worker} ended while it ran {reaction.path} ({reaction.site}) at tag ({elapsed} ns, {microstep}): {facts}"
        )
