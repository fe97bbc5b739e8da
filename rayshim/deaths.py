"""From the facts of a process's death to the exception that its callers get."""

import os
import signal

_INTENDED, _CREATION_FAILED, _OUT_OF_SCOPE, _IDLE, _SYSTEM_EXIT = range(1, 6)


def exception(facts):
    """ActorDiedError or WorkerCrashedError. `facts`: dict of reactor's supervisor (pid, status, exit_reason, actor, killed),
    with `creation_error` if the constructor raised; None if nothing is known."""
    from rayshim import exceptions

    if facts is None:
        return exceptions.ActorDiedError()
    if facts.get("creation_error"):
        cause = exceptions.RayError.from_bytes(facts["creation_error"])
        return exceptions.ActorDiedError(cause if isinstance(cause, exceptions.RayTaskError) else str(cause))
    actor = facts["actor"]
    if actor is None:
        return exceptions.WorkerCrashedError(f"pid={facts['pid']}: {_how(facts['status'])}")
    from rayshim.actor import actor_id
    from rayshim.actor_death import ActorDeath

    return exceptions.ActorDiedError(
        ActorDeath(
            f"The actor is dead because {_why(facts)}",
            class_name=actor["class_name"],
            actor_id=actor_id(actor["number"]).hex(),
            pid=facts["pid"],
            name=actor["name"],
            namespace=actor["namespace"],
            ip="127.0.0.1",
            never_started=facts["pid"] == 0,
        )
    )


def _why(facts):
    if facts["killed"]:
        return facts["killed"]
    if facts["exit_reason"] == _INTENDED:
        return "its worker process has exited by request: exit_actor() is called."
    if facts["exit_reason"] == _SYSTEM_EXIT:
        return "its worker process has died: a method called sys.exit()."
    if facts["exit_reason"] == _OUT_OF_SCOPE:
        return "all references to the actor were removed."
    return f"its worker process has died: {_how(facts['status'])}."


def _how(status):
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"killed by signal {number} ({signal.Signals(number).name})"
    return f"it exited with code {os.WEXITSTATUS(status)}"
