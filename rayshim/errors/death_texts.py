"""The exception for callers of a process that died, made from the facts that the supervisor has collected."""

import os
import signal
from typing import Any

from reactor import _core

from rayshim.errors import exceptions
from rayshim.errors.actor_death import ActorDeath
from rayshim.errors.address import get_node_ip_address
from rayshim.errors.memory import out_of_memory

NOWHERE = "a node that is not there"  # the key of a reservation that was never made
NO_ENVIRONMENT = "no runtime environment: "  # a key that begins so goes on with the reason
_LOST_DESCRIPTOR = (
    "has closed file descriptors that it had not opened, as os.closerange(3, n) and libraries for daemons do. Close only files that the program "
    "has opened."
)
_Reason = _core.ExitReason


class Refused(Exception):
    """The outcome of a call that failed for a reason outside of its function. `get` of its result raises `error` itself, as for a task that no
    worker has taken."""

    def __init__(self, error: exceptions.RayError) -> None:
        self.error = error


def exception(facts):
    """The exception for a call whose process died: ActorDiedError, ActorUnavailableError (the actor is being restarted), for a task
    WorkerCrashedError, or OutOfMemoryError.

    Arguments:
        facts: dict from reactor's supervisor, or None if nothing is known. Always: pid, status (of `waitpid`), exit_reason, actor (dict, None
            for a task worker), killed (the reason, if the death was requested). In some cases: creation_error (the constructor raised),
            restarting (the actor is being restarted), running (title of the task that ran), released (key of the placement group that was
            removed), beside (names of the other actors of a packed worker), memory (what the memory was, if the process was ended for it)."""
    if facts is None:
        return exceptions.ActorDiedError()
    if facts.get("creation_error"):
        cause = exceptions.RayError.from_bytes(facts["creation_error"])
        if isinstance(cause, exceptions.UnserializableException):
            return cause
        return exceptions.ActorDiedError(cause if isinstance(cause, exceptions.RayTaskError) else str(cause))
    actor = facts["actor"]
    if facts.get("of_owner"):
        return exceptions.OwnerDiedError.of(
            f"{actor['class_name'] if actor else _function(facts)[:-4] or 'a task'}, pid={facts['pid']}"
        )
    if facts.get("released") and facts["pid"] == 0:
        return refusal(facts["released"], of_actor=actor is not None)
    if facts.get("memory") and not facts.get("restarting"):
        return exceptions.OutOfMemoryError(out_of_memory(facts))
    if actor is None:
        because = ""
        if facts["exit_reason"] in (_Reason.FINISHED, _Reason.SYSTEM_EXIT):
            because = ", because the task called sys.exit()"
        elif facts.get("released"):
            because = ", because its placement group was removed"
        elif facts["exit_reason"] == _Reason.LOST_DESCRIPTOR:
            because = f", because the task {_LOST_DESCRIPTOR}"
        return exceptions.WorkerCrashedError.of(
            f"{_function(facts)}pid={facts['pid']}: {_how(facts['status'])}{because}"
        )
    if facts.get("restarting"):
        return exceptions.ActorUnavailableError(
            f"The actor is temporarily unavailable: {why(facts)} The actor is being restarted, and this call has no retries left "
            "(max_task_retries)",
            bytes.fromhex(actor["id"]),
        )
    return exceptions.ActorDiedError(
        cause=ActorDeath(
            f"The actor is dead because {why(facts)}{_with_whom(facts)}",
            class_name=actor["qualified_name"],
            actor_id=actor["id"],
            pid=facts["pid"],
            name=actor["name"],
            namespace=actor["namespace"],
            ip=get_node_ip_address(),
            never_started=facts["pid"] == 0,
        )
    )


def of_retried(facts):
    """Why a call is run again: the text of its error, had it no retries."""
    return str(exception(facts)) if facts["actor"] is None else f"The actor is temporarily unavailable: {why(facts)}"


def of_crashed(facts):
    """Ray's sentence about a process that died in the middle of its work: what it was, and how it ended."""
    names = (
        ", ".join(facts["beside"])
        or (facts["actor"] or {}).get("class_name")
        or facts["running"].removeprefix("ray::")
        or "(unknown)"
    )
    how = out_of_memory(facts) if facts["memory"] else f"{_how(facts['status'])}."
    return f"A worker died or was killed while executing a task by an unexpected system error: {names}, pid={facts['pid']}: {how}"


def _function(facts):
    """The task that ran when its worker died, as "f() in "; empty if no task had started."""
    name = facts.get("running", "").removeprefix("ray::")
    return f"{name}() in " if name else ""


def why(facts: dict[str, Any]) -> str:
    """The reason of an actor's death, as the end of the sentence "The actor is dead because ..."; `facts` as in `exception`."""
    if facts.get("released"):
        return (
            "its worker process has died. Worker exit type: INTENDED_SYSTEM_EXIT Worker exit detail: Destroying worker since its placement "
            f"group was removed. Placement group id: {facts['released']}"
        )
    if facts["killed"]:
        return facts["killed"]
    if facts["exit_reason"] == _Reason.INTENDED:
        return (
            "its worker process has died. Worker exit type: INTENDED_USER_EXIT Worker exit detail: Worker exits by an user request. "
            "Worker exits with an exit code 0. exit_actor() is called."
        )
    if facts["exit_reason"] == _Reason.FINISHED:
        return (
            "its worker process has died. Worker exit type: INTENDED_USER_EXIT Worker exit detail: Worker exits by an user request. "
            "Worker exits with an exit code 0. A method called sys.exit()."
        )
    if facts["exit_reason"] == _Reason.SYSTEM_EXIT:
        return (
            "its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker exits unexpectedly. Worker exits with an "
            f"exit code {os.WEXITSTATUS(facts['status']) or None}. A method called sys.exit()."
        )
    if facts["exit_reason"] == _Reason.LOST_DESCRIPTOR:
        return (
            "its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker exits unexpectedly. It could not reach the "
            f"session any more: the actor {_LOST_DESCRIPTOR}"
        )
    if facts["exit_reason"] == _Reason.DRAINED:
        return "its worker process received SIGTERM and ended."
    if facts["exit_reason"] == _Reason.OUT_OF_SCOPE:
        return "all references to the actor were removed."
    if facts.get("memory"):
        return f"its worker process has died. {out_of_memory(facts)}"
    return f"its worker process has died: {_how(facts['status'])}. Worker exit type: SYSTEM_ERROR."


def _with_whom(facts):
    """In packed placement: a sentence that names all actors of the worker."""
    beside = facts.get("beside")
    if not beside:
        return ""
    return f" The worker was packed, and all its actors died with it: {', '.join(beside)}."


def _how(status):
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return f"killed by signal {number} ({signal.Signals(number).name})"
    return f"it exited with code {os.WEXITSTATUS(status)}"


def refusal(key, of_actor):
    """The exception for a task or actor whose placement group was removed, whose node does not exist, or whose environment cannot be set up."""
    if key.startswith(NO_ENVIRONMENT):
        return exceptions.RuntimeEnvSetupError(key.removeprefix(NO_ENVIRONMENT))
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
