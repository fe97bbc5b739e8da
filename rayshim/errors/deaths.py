"""From the facts of a process's death to the exception that its callers get."""

import os
import signal

from rayshim.errors import exceptions
from rayshim.errors.actor_death import ActorDeath

NOWHERE = "a node that is not there"  # the key of a reservation that was never made
_INTENDED, _CREATION_FAILED, _OUT_OF_SCOPE, _IDLE, _SYSTEM_EXIT, _DRAINED, _FINISHED = range(1, 8)


def exception(facts):
    """ActorDiedError, WorkerCrashedError, or ActorUnavailableError for an actor that is made anew. `facts`: dict of reactor's
    supervisor (pid, status, exit_reason, actor, killed; `running`, the title of a task; `beside` in packed placement), with `creation_error` if the constructor raised, `restarting` if the
    actor is made anew; None if nothing is known."""
    if facts is None:
        return exceptions.ActorDiedError()
    if facts.get("creation_error"):
        cause = exceptions.RayError.from_bytes(facts["creation_error"])
        return exceptions.ActorDiedError(cause if isinstance(cause, exceptions.RayTaskError) else str(cause))
    actor = facts["actor"]
    if facts.get("released") and (actor is None or facts["pid"] == 0):
        return refusal(facts["released"], of_actor=actor is not None)
    if actor is None:
        return exceptions.WorkerCrashedError(f"{_function(facts)}pid={facts['pid']}: {_how(facts['status'])}")
    if facts.get("restarting"):
        return exceptions.ActorUnavailableError(
            f"The actor is temporarily unavailable: {_why(facts)} It is made anew, and this call may not be run twice "
            "(max_task_retries)",
            bytes.fromhex(actor["id"]),
        )
    return exceptions.ActorDiedError(
        ActorDeath(
            f"The actor is dead because {_why(facts)}{_with_whom(facts)}",
            class_name=actor["class_name"],
            actor_id=actor["id"],
            pid=facts["pid"],
            name=actor["name"],
            namespace=actor["namespace"],
            ip="127.0.0.1",
            never_started=facts["pid"] == 0,
        )
    )


def _function(facts):
    """The task that ran when a task worker died, "f() in "; empty if it had not begun."""
    name = facts.get("running", "").removeprefix("ray::")
    return f"{name}() in " if name else ""


def _why(facts):
    if facts["killed"]:
        return facts["killed"]
    if facts["exit_reason"] == _INTENDED:
        return (
            "its worker process has died. Worker exit type: INTENDED_USER_EXIT Worker exit detail: Worker exits by an user request. "
            "Worker exits with an exit code 0. exit_actor() is called."
        )
    if facts["exit_reason"] == _FINISHED:
        return (
            "its worker process has died. Worker exit type: INTENDED_USER_EXIT Worker exit detail: Worker exits by an user request. "
            "Worker exits with an exit code 0. A method called sys.exit()."
        )
    if facts["exit_reason"] == _SYSTEM_EXIT:
        return (
            "its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker exits unexpectedly. A method called "
            "sys.exit() with another code than 0."
        )
    if facts["exit_reason"] == _DRAINED:
        return "its worker process has ended by request: it got SIGTERM."
    if facts["exit_reason"] == _OUT_OF_SCOPE:
        return "all references to the actor were removed."
    return f"its worker process has died: {_how(facts['status'])}. Worker exit type: SYSTEM_ERROR."


def _with_whom(facts):
    """In packed placement: all the actors that the worker hosted."""
    beside = facts.get("beside")
    if not beside:
        return ""
    return f" It was a packed worker, and every actor on it has died with it: {', '.join(beside)}."


def _how(status):
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"killed by signal {number} ({signal.Signals(number).name})"
    return f"it exited with code {os.WEXITSTATUS(status)}"


def refusal(key, of_actor):
    """The exception of a task or actor that was to run in a group that is gone, or on a node that is not there."""
    if key == NOWHERE:
        kind = exceptions.ActorUnschedulableError if of_actor else exceptions.TaskUnschedulableError
        return kind(
            "The node specified via NodeAffinitySchedulingStrategy doesn't exist any more or is infeasible, and soft=False was "
            "specified."
        )
    if not of_actor:
        return exceptions.TaskPlacementGroupRemoved()
    return exceptions.ActorUnschedulableError(
        "Could not create the actor because its associated placement group was removed.\n"
        f"Required placement group {key} is removed."
    )
