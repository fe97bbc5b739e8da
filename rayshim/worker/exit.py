"""`exit_actor`: an actor ends itself."""

from reactor import _core

from rayshim.errors.sites import at
from rayshim.session import session


class ActorExit(SystemExit):
    """Raised by `exit_actor`. It ends the actor's process and is not reported as an error."""

    intended = True


def exit_actor():
    """Ends the actor that calls it. The running call, pending calls and later calls raise ActorDiedError in their callers.

    Raises TypeError outside of an actor.
    """
    _, number = _core.running()
    s = session.current
    if not number and not (s is not None and s.record):
        raise TypeError(
            f"exit_actor API is called on a non-actor worker. ({at('exit_actor')}: call it in a method of an actor)"
        )
    raise ActorExit(0)
