"""How an actor ends itself."""

from __future__ import annotations

from typing import NoReturn

from reactor import _core

from rayshim.errors.sites import at
from rayshim.session import session


class ActorExit(SystemExit):
    """Raised by `exit_actor`; ends the actor's process without being an error."""

    intended = True


def exit_actor() -> NoReturn:
    """Ends the current actor. The running call, those that wait and all later ones get an ActorDiedError.

    Raises TypeError outside of an actor.
    """
    _, number = _core.running()
    s = session.current
    if not number and not (s is not None and s.record):
        raise TypeError(
            f"exit_actor API is called on a non-actor worker. ({at('exit_actor')}: call it in a method of an actor)"
        )
    raise ActorExit(0)
